// SPDX-License-Identifier: MIT
#pragma once
// SelectionStates: choices for some of the nodes of which none is worse than another in everything.

#include <tq/select/detail/hull_bound.hpp>
#include <tq/select/detail/problem.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace tq::detail {

// Sums of costs, and how they came about.
struct SelectionState {
  SelectionCost cost;
  std::uint32_t link = 0;
};

// Where states came from: the choice of one node, or two states whose choices are taken together.
class SelectionLinks {
 public:
  [[nodiscard]] std::uint32_t choice(std::size_t node, std::size_t candidate) {
    return add({static_cast<std::uint32_t>(node), static_cast<std::uint32_t>(candidate), true});
  }
  [[nodiscard]] std::uint32_t both(std::uint32_t a, std::uint32_t b) { return add({a, b, false}); }

  // Writes the choices behind a link, of the nodes that it has.
  void follow(std::uint32_t link, std::vector<std::size_t>& choices) const {
    std::vector<std::uint32_t> open{link};
    while (!open.empty()) {
      const Link& l = links_[open.back()];
      open.pop_back();
      if (l.is_choice) choices[l.first] = l.second;
      else open.insert(open.end(), {l.first, l.second});
    }
  }
  [[nodiscard]] std::size_t size() const noexcept { return links_.size(); }

 private:
  struct Link {
    std::uint32_t first, second;
    bool is_choice;
  };
  std::uint32_t add(const Link& link) {
    links_.push_back(link);
    return static_cast<std::uint32_t>(links_.size() - 1);
  }
  std::vector<Link> links_;
};

// The least error so far for every number of seconds.
class Staircase {
 public:
  // False where something before was as good in both.
  [[nodiscard]] bool add(double seconds, double error) {
    auto at = steps_.upper_bound(seconds);
    if (at != steps_.begin() && std::prev(at)->second <= error) return false;
    at = steps_.lower_bound(seconds);
    while (at != steps_.end() && at->second >= error) at = steps_.erase(at);
    steps_.emplace_hint(at, seconds, error);
    return true;
  }

 private:
  std::map<double, double> steps_;
};

// Keeps what nothing else equals or beats in bytes, error and seconds, by rising bytes. Of equals
// the first stays.
template <class State>
void keep_undominated(std::vector<State>& states) {
  std::stable_sort(states.begin(), states.end(), [](const State& a, const State& b) {
    return std::tie(a.cost.bytes, a.cost.error, a.cost.seconds) <
           std::tie(b.cost.bytes, b.cost.error, b.cost.seconds);
  });
  Staircase seen;
  std::erase_if(states, [&](const State& s) { return !seen.add(s.cost.seconds, s.cost.error); });
}

// How far states lie above the lower convex hull of bytes and error of all of them.
template <class State>
[[nodiscard]] std::vector<double> above_hull(const std::vector<State>& states) {
  std::vector<SelectionCost> costs;
  for (const State& s : states) costs.push_back(s.cost);
  const std::vector<std::size_t> hull = hull_of(costs, bytes_of);
  std::vector<double> above(states.size());
  std::size_t k = 0;
  for (std::size_t i = 0; i < states.size(); ++i) {  // by rising bytes
    while (k + 1 < hull.size() && hull[k + 1] <= i) ++k;
    const SelectionCost& left = costs[hull[k]];
    double at = left.error;
    if (k + 1 < hull.size()) {
      const SelectionCost& right = costs[hull[k + 1]];
      at -= (bytes_of(costs[i]) - bytes_of(left)) / (bytes_of(right) - bytes_of(left)) *
            (left.error - right.error);
    }
    above[i] = costs[i].error - at;
  }
  return above;
}

// Numbers of states by stretches of seconds, in each by rising bytes.
template <class State>
[[nodiscard]] std::vector<std::size_t> by_seconds(const std::vector<State>& states) {
  constexpr double stretches = 64;
  const auto [least, most] = std::minmax_element(
      states.begin(), states.end(),
      [](const State& a, const State& b) { return a.cost.seconds < b.cost.seconds; });
  const double first = least->cost.seconds, width = (most->cost.seconds - first) / stretches;
  std::vector<std::pair<double, std::size_t>> keys;
  for (std::size_t i = 0; i < states.size(); ++i)
    keys.emplace_back(width > 0 ? std::floor((states[i].cost.seconds - first) / width) : 0.0, i);
  std::sort(keys.begin(), keys.end());
  std::vector<std::size_t> order;
  for (const auto& key : keys) order.push_back(key.second);
  return order;
}

// Leaves at most `most` undominated states, and at least the ones of fewest bytes, least error and
// fewest seconds: of neighbours the one closest to the convex hull. What stays depends on the
// states only, not on any budget. True where nothing was left out.
template <class State>
[[nodiscard]] bool thin_out(std::vector<State>& states, std::size_t most) {
  if (states.size() <= most) return true;
  const std::vector<double> above = above_hull(states);
  const std::vector<std::size_t> order = by_seconds(states);
  std::vector<bool> kept(states.size());
  const auto keep_least = [&](auto&& value) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < states.size(); ++i)
      if (value(states[i]) < value(states[best])) best = i;
    kept[best] = true;
  };
  keep_least([](const State& s) { return s.cost.bytes; });
  keep_least([](const State& s) { return s.cost.error; });
  keep_least([](const State& s) { return s.cost.seconds; });
  const std::size_t cells = most > 4 ? most - 3 : 1;
  for (std::size_t c = 0; c < cells; ++c) {
    const std::size_t begin = c * states.size() / cells, end = (c + 1) * states.size() / cells;
    std::size_t best = order[begin];
    for (std::size_t i = begin; i < end; ++i)
      if (above[order[i]] < above[best]) best = order[i];
    kept[best] = true;
  }
  std::size_t at = 0;
  std::erase_if(states, [&](const State&) { return !kept[at++]; });
  return false;
}

// Lists of states that are put together, with a cap on how many a list may have.
class SelectionStates {
 public:
  explicit SelectionStates(std::size_t most) : most_(most) {}

  using List = std::vector<SelectionState>;

  // Every candidate of a node.
  [[nodiscard]] List choices(std::size_t node, const std::vector<SelectionCost>& candidates) {
    List list;
    for (std::size_t j = 0; j < candidates.size(); ++j)
      list.push_back(choice(node, j, candidates[j]));
    return limited(std::move(list));
  }
  [[nodiscard]] SelectionState choice(std::size_t node, std::size_t candidate,
                                      const SelectionCost& cost) {
    return {cost, links_.choice(node, candidate)};
  }
  // Without what is dominated, and below the cap.
  [[nodiscard]] List limited(List list) {
    keep_undominated(list);
    is_complete_ = thin_out(list, most_) && is_complete_;
    return list;
  }
  // Every pair of states of two lists.
  [[nodiscard]] List joined(List a, List b) {
    const std::size_t pairs = std::min(64 * most_, std::size_t{1} << 22);
    if (b.size() > pairs / a.size()) {  // more than memory and time are for
      const std::size_t side = std::max<std::size_t>(4, pairs / std::max(a.size(), b.size()));
      is_complete_ = thin_out(a.size() < b.size() ? a : b, side) && is_complete_;
    }
    struct Pair {
      SelectionCost cost;
      std::uint32_t a, b;
    };
    std::vector<Pair> sums;
    sums.reserve(a.size() * b.size());
    for (const SelectionState& x : a)
      for (const SelectionState& y : b) sums.push_back({x.cost + y.cost, x.link, y.link});
    keep_undominated(sums);
    is_complete_ = thin_out(sums, most_) && is_complete_;
    List list;
    list.reserve(sums.size());
    for (const Pair& p : sums) list.push_back({p.cost, links_.both(p.a, p.b)});
    return list;
  }

  [[nodiscard]] const SelectionLinks& links() const noexcept { return links_; }
  [[nodiscard]] bool is_complete() const noexcept { return is_complete_; }

 private:
  std::size_t most_;
  bool is_complete_ = true;
  SelectionLinks links_;
};

}  // namespace tq::detail

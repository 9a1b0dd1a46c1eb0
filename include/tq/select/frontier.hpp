// SPDX-License-Identifier: MIT
#pragma once
// SelectionFrontier: all best selections of a problem, whatever the budget.

#include <tq/error.hpp>
#include <tq/select/detail/forest.hpp>
#include <tq/select/detail/hull_bound.hpp>
#include <tq/select/detail/problem.hpp>
#include <tq/select/detail/reduce.hpp>
#include <tq/select/detail/states.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tq {

namespace detail {
[[nodiscard]] inline std::string limit_text(std::uint64_t value) { return std::to_string(value); }
[[nodiscard]] inline std::string limit_text(double value) {
  char text[32];  // all digits, so that it can be given back as a limit
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}
}  // namespace detail

/// Upper limits of the three costs of a selection.
struct SelectionLimits {
  std::uint64_t bytes = std::numeric_limits<std::uint64_t>::max();
  double error = std::numeric_limits<double>::infinity();
  double seconds = std::numeric_limits<double>::infinity();

  [[nodiscard]] bool allow(const SelectionCost& c) const noexcept {
    return c.bytes <= bytes && c.error <= error && c.seconds <= seconds;
  }
};

/// The graph that the edges of a problem form.
enum class SelectionGraph : std::uint8_t {
  none,     ///< no edges
  forest,   ///< chains and trees, solved as exactly as nodes without edges
  general,  ///< circles: edges that close one are added afterwards, which proves nothing
};

/// The answer to one question.
struct SelectionResult {
  std::vector<std::size_t> choices;  ///< the number of the candidate of every node
  SelectionCost cost;
  double bound = 0;  ///< no selection within the limits has less of what was asked for
  double gap = 0;    ///< (what it has - bound) / bound: 0 where proven, infinite for a bound of 0
  bool optimal = false;  ///< proven to be the best
  double price = 0;      ///< the error that one more byte would save, by the linear relaxation
};

/// The multiple-choice knapsack solved for every budget at once: a list of selections of which none
/// is worse than another in bytes, error and seconds together. Every question is answered from the
/// one list, so that more budget never gives a worse answer; and nothing depends on the order or
/// number of questions.
///
/// Lists of partial selections are joined node after node (dynamic programming over lists without
/// dominated states). They have all best selections unless a list outgrows its share of
/// `max_states`: then it is thinned out, and results say how far from the best they may be. Of
/// equal selections the one with fewer bytes in earlier nodes is taken, and of equal candidates the
/// first.
///
/// Source: Nauss, "The 0-1 knapsack problem with multiple choice constraints", 1978 (reduction);
/// Pisinger, "A minimal algorithm for the multiple-choice knapsack problem", 1995 (hull,
/// dominance).
class SelectionFrontier {
 public:
  static constexpr std::size_t default_max_states = std::size_t{1} << 21;

  /// Throws: `errc::bad_argument` for costs that are not finite or negative, and for ties and edges
  /// of nodes that do not exist; `errc::shape_mismatch` for tied nodes with different numbers of
  /// candidates and edges with too few costs; `errc::no_data` for a node without candidates;
  /// `errc::unsupported` where bytes may add up to 2^64, or errors or seconds to infinity.
  explicit SelectionFrontier(const SelectionProblem& problem,
                             std::size_t max_states = default_max_states);

  /// The costs of the selections, by rising bytes.
  [[nodiscard]] std::vector<SelectionCost> costs() const {
    std::vector<SelectionCost> list;
    for (const detail::SelectionState& s : states_) list.push_back(s.cost);
    return list;
  }
  /// Whether no selection is missing.
  [[nodiscard]] bool is_complete() const noexcept { return complete_; }
  [[nodiscard]] SelectionGraph graph() const noexcept { return graph_; }

  /// The selection of least error, and of those the one of fewest bytes. Throws:
  /// `errc::bad_argument` where none is within the limits; the text names what can be reached.
  [[nodiscard]] SelectionResult least_error(const SelectionLimits& limits = {}) const;
  /// The one of fewest bytes, and of those the one of least error. Throws: as `least_error`.
  [[nodiscard]] SelectionResult fewest_bytes(const SelectionLimits& limits = {}) const;
  /// The one that takes least time, and of those the one of least error. Throws: as `least_error`.
  [[nodiscard]] SelectionResult fewest_seconds(const SelectionLimits& limits = {}) const;
  /// The one where bytes, error and seconds, each in parts of its range among the selections within
  /// the limits, have the least sum: the knee of the frontier. Its bound is that of the error of
  /// selections within the limits that take no more bytes, whatever their seconds: it is optimal
  /// where none of these has less error. Throws: as `least_error`.
  [[nodiscard]] SelectionResult balanced(const SelectionLimits& limits = {}) const;

 private:
  using State = detail::SelectionState;

  void solve(const detail::MergedProblem& merged, std::size_t max_states);
  void solve_nodes(const detail::MergedProblem& merged, detail::SelectionStates& states);
  void add_left_out(const detail::MergedProblem& merged,
                    const std::vector<const SelectionEdge*>& edges);
  [[nodiscard]] std::vector<std::size_t> merged_choices(const State& state) const;
  [[nodiscard]] const State& best(const SelectionLimits& limits, auto&& before) const;
  // `value`: what was asked for; `bound`: below which it is not, exact where the list is complete.
  [[nodiscard]] SelectionResult result(const State& state, double value, double bound) const;
  // The least error within the limits: of the list where it is complete, else by relaxation.
  [[nodiscard]] double error_bound(const SelectionLimits& limits) const;
  [[noreturn]] void refuse(const SelectionLimits& limits) const;

  std::vector<std::size_t> merged_;  // of every node: its number among the merged ones
  std::vector<std::vector<std::size_t>> numbers_;  // of the candidates that were not left out
  detail::HullBound by_bytes_, by_seconds_;
  std::optional<detail::GreedyPath> greedy_;
  detail::SelectionLinks links_;
  std::vector<State> states_;  // links from `greedy_link_` on are numbers in `greedy_`
  std::uint32_t greedy_link_ = 0;
  bool complete_ = false;
  SelectionGraph graph_ = SelectionGraph::none;
};

inline SelectionFrontier::SelectionFrontier(const SelectionProblem& problem, std::size_t max_states)
    : by_bytes_({}, detail::bytes_of), by_seconds_({}, detail::seconds_of) {
  detail::require_valid(problem);
  const detail::MergedProblem merged = detail::merge_ties(problem);
  merged_ = merged.merged;
  by_bytes_ = detail::HullBound(merged.nodes, detail::bytes_of);
  by_seconds_ = detail::HullBound(merged.nodes, detail::seconds_of);
  if (merged.nodes.empty()) {
    states_.emplace_back();
    complete_ = true;
  } else {
    solve(merged, max_states);
  }
}

inline void SelectionFrontier::solve(const detail::MergedProblem& merged, std::size_t max_states) {
  constexpr std::size_t fewest = 64, most = std::size_t{1} << 18;  // of a list
  max_states = std::min(max_states, std::size_t{1} << 30);         // links have 32 bits
  detail::SelectionStates states(
      std::clamp(max_states / merged.nodes.size(), std::min(fewest, max_states), most));
  for (const auto& node : merged.nodes) {
    numbers_.emplace_back(node.size());
    for (std::size_t j = 0; j < node.size(); ++j) numbers_.back()[j] = j;
  }
  if (merged.edges.empty()) {
    solve_nodes(merged, states);
    links_ = states.links();
    complete_ = states.is_complete();
    return;
  }
  detail::SelectionForest forest(merged);
  states_ = forest.solve(states);
  links_ = states.links();
  greedy_link_ = static_cast<std::uint32_t>(links_.size());
  complete_ = states.is_complete() && forest.left_out().empty();
  graph_ = forest.left_out().empty() ? SelectionGraph::forest : SelectionGraph::general;
  if (!forest.left_out().empty()) add_left_out(merged, forest.left_out());
}

// Without edges a greedy path shows which candidates are no use, and is better than nothing where
// lists are thinned out.
inline void SelectionFrontier::solve_nodes(const detail::MergedProblem& merged,
                                           detail::SelectionStates& states) {
  greedy_.emplace(merged.nodes, by_bytes_);
  constexpr std::size_t worthwhile = std::size_t{1} << 27;
  std::uint64_t bytes = 0;  // of bounds, which are exact below 2^53
  for (const auto& node : merged.nodes) {
    std::uint64_t largest = 0;
    for (const SelectionCost& c : node) largest = std::max(largest, c.bytes);
    bytes += largest;
  }
  const bool reduces = bytes < std::uint64_t{1} << 53 && !merged.has_seconds() &&
                       merged.nodes.size() * by_bytes_.steps().size() < worthwhile;
  detail::MergedProblem rest = merged;
  if (reduces) {
    detail::ReducedNodes left = detail::reduced(merged.nodes, by_bytes_, *greedy_);
    rest.nodes = std::move(left.nodes);
    numbers_ = std::move(left.numbers);
  }
  states_ = detail::SelectionForest(rest).solve(states);
  greedy_link_ = static_cast<std::uint32_t>(states.links().size());
  if (states.is_complete()) return;
  for (std::size_t k = 0; k < greedy_->costs().size(); ++k)
    states_.push_back({greedy_->costs()[k], greedy_link_ + static_cast<std::uint32_t>(k)});
  detail::keep_undominated(states_);
}

inline void SelectionFrontier::add_left_out(const detail::MergedProblem& merged,
                                            const std::vector<const SelectionEdge*>& edges) {
  for (State& state : states_) {
    const std::vector<std::size_t> choices = merged_choices(state);
    for (const SelectionEdge* edge : edges)
      state.cost +=
          edge->costs[choices[edge->from] * merged.nodes[edge->to].size() + choices[edge->to]];
  }
  detail::keep_undominated(states_);
}

inline std::vector<std::size_t> SelectionFrontier::merged_choices(const State& state) const {
  if (greedy_ && state.link >= greedy_link_) return greedy_->choices(state.link - greedy_link_);
  std::vector<std::size_t> choices(numbers_.size());
  if (choices.empty()) return choices;
  links_.follow(state.link, choices);
  for (std::size_t i = 0; i < choices.size(); ++i) choices[i] = numbers_[i][choices[i]];
  return choices;
}

// The first state within the limits that no other comes before. Throws: as `least_error`.
inline const SelectionFrontier::State& SelectionFrontier::best(const SelectionLimits& limits,
                                                               auto&& before) const {
  const State* best = nullptr;
  for (const State& s : states_)
    if (limits.allow(s.cost) && (best == nullptr || before(s.cost, best->cost))) best = &s;
  if (best == nullptr) refuse(limits);
  return *best;
}

inline SelectionResult SelectionFrontier::result(const State& state, double value,
                                                 double bound) const {
  SelectionResult out;
  const std::vector<std::size_t> choices = merged_choices(state);
  for (const std::size_t m : merged_) out.choices.push_back(choices[m]);
  out.cost = state.cost;
  out.bound = std::min(bound, value);
  out.optimal = complete_ && out.bound == value;
  if (value > out.bound)
    out.gap =
        out.bound > 0 ? (value - out.bound) / out.bound : std::numeric_limits<double>::infinity();
  out.price = by_bytes_.price(detail::bytes_of(state.cost));
  return out;
}

inline double SelectionFrontier::error_bound(const SelectionLimits& limits) const {
  if (!complete_)
    return std::max(by_bytes_.least_error(static_cast<double>(limits.bytes)),
                    by_seconds_.least_error(limits.seconds));
  double least = std::numeric_limits<double>::infinity();
  for (const State& s : states_)
    if (limits.allow(s.cost)) least = std::min(least, s.cost.error);
  return least;
}

inline SelectionResult SelectionFrontier::least_error(const SelectionLimits& limits) const {
  const State& s = best(limits, [](const SelectionCost& a, const SelectionCost& b) {
    return a.error != b.error ? a.error < b.error : a.bytes < b.bytes;
  });
  return result(s, s.cost.error, error_bound(limits));
}

inline SelectionResult SelectionFrontier::fewest_bytes(const SelectionLimits& limits) const {
  const State& s = best(limits, [](const SelectionCost& a, const SelectionCost& b) {
    return a.bytes != b.bytes ? a.bytes < b.bytes : a.error < b.error;
  });
  const double value = detail::bytes_of(s.cost);
  return result(s, value, complete_ ? value : by_bytes_.least_cost(limits.error));
}

inline SelectionResult SelectionFrontier::fewest_seconds(const SelectionLimits& limits) const {
  const State& s = best(limits, [](const SelectionCost& a, const SelectionCost& b) {
    return a.seconds != b.seconds ? a.seconds < b.seconds : a.error < b.error;
  });
  return result(s, s.cost.seconds,
                complete_ ? s.cost.seconds : by_seconds_.least_cost(limits.error));
}

inline SelectionResult SelectionFrontier::balanced(const SelectionLimits& limits) const {
  constexpr double inf = std::numeric_limits<double>::infinity();
  double low[3] = {inf, inf, inf}, high[3] = {0, 0, 0};
  const auto each = [](const SelectionCost& c, auto&& f) {
    f(0, detail::bytes_of(c));
    f(1, c.error);
    f(2, c.seconds);
  };
  for (const State& s : states_)
    if (limits.allow(s.cost))
      each(s.cost, [&](int i, double v) {
        low[i] = std::min(low[i], v);
        high[i] = std::max(high[i], v);
      });
  const auto sum = [&](const SelectionCost& c) {
    double parts = 0;
    each(c, [&](int i, double v) {
      if (high[i] > low[i]) parts += (v - low[i]) / (high[i] - low[i]);
    });
    return parts;
  };
  const State& s =
      best(limits, [&](const SelectionCost& a, const SelectionCost& b) { return sum(a) < sum(b); });
  SelectionLimits as_small = limits;
  as_small.bytes = s.cost.bytes;
  return result(s, s.cost.error, error_bound(as_small));
}

inline void SelectionFrontier::refuse(const SelectionLimits& limits) const {
  std::string text = "tq::SelectionFrontier: expected limits that a selection can keep";
  const auto reach = [&](const char* what, auto limit, auto free, auto value, auto&& number) {
    if (limit == free) return;
    SelectionLimits others = limits;
    others.*value = free;
    auto least = free;
    for (const State& s : states_)
      if (others.allow(s.cost)) least = std::min<decltype(least)>(least, number(s.cost));
    text += std::string("; got at most ") + what + " " + detail::limit_text(limit);
    if (least < free) text += ", where the least is " + detail::limit_text(least);
    else text += ", and none is within the others";
  };
  const SelectionLimits free;
  reach("bytes", limits.bytes, free.bytes, &SelectionLimits::bytes,
        [](const SelectionCost& c) { return c.bytes; });
  reach("error", limits.error, free.error, &SelectionLimits::error,
        [](const SelectionCost& c) { return c.error; });
  reach("seconds", limits.seconds, free.seconds, &SelectionLimits::seconds,
        [](const SelectionCost& c) { return c.seconds; });
  raise(errc::bad_argument, text);
}

}  // namespace tq

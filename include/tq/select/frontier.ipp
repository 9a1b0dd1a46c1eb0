// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/select/frontier.hpp.

#include <tq/select/detail/forest.hpp>
#include <tq/select/frontier.hpp>

#include <cmath>
#include <cstdio>
#include <span>
#include <utility>

namespace tq {

namespace detail {

TQ_API std::string limit_text(std::uint64_t value) { return std::to_string(value); }

TQ_API std::string limit_text(double value) {
  char text[32];  // all digits, so that it can be given back as a limit
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

}  // namespace detail

TQ_API bool SelectionLimits::allow(const SelectionCost& c) const noexcept {
  return c.bytes <= bytes && c.error <= error && c.seconds <= seconds;
}

TQ_API std::vector<SelectionCost> SelectionFrontier::costs() const {
  std::vector<SelectionCost> list;
  for (const detail::SelectionState& s : states_) list.push_back(s.cost);
  return list;
}

TQ_API SelectionFrontier::SelectionFrontier(const SelectionProblem& problem, std::size_t max_states)
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

TQ_API void SelectionFrontier::solve(const detail::MergedProblem& merged, std::size_t max_states) {
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

TQ_API void SelectionFrontier::solve_nodes(const detail::MergedProblem& merged,
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

TQ_API void SelectionFrontier::add_left_out(const detail::MergedProblem& merged,
                                            const std::vector<const SelectionEdge*>& edges) {
  for (State& state : states_) {
    const std::vector<std::size_t> choices = merged_choices(state);
    for (const SelectionEdge* edge : edges)
      state.cost +=
          edge->costs[choices[edge->from] * merged.nodes[edge->to].size() + choices[edge->to]];
  }
  detail::keep_undominated(states_);
}

TQ_API std::vector<std::size_t> SelectionFrontier::merged_choices(const State& state) const {
  if (greedy_ && state.link >= greedy_link_) return greedy_->choices(state.link - greedy_link_);
  std::vector<std::size_t> choices(numbers_.size());
  if (choices.empty()) return choices;
  links_.follow(state.link, choices);
  for (std::size_t i = 0; i < choices.size(); ++i) choices[i] = numbers_[i][choices[i]];
  return choices;
}

TQ_API const SelectionFrontier::State& SelectionFrontier::best(const SelectionLimits& limits,
                                                               auto&& before) const {
  const State* best = nullptr;
  for (const State& s : states_)
    if (limits.allow(s.cost) && (best == nullptr || before(s.cost, best->cost))) best = &s;
  if (best == nullptr) refuse(limits);
  return *best;
}

TQ_API SelectionResult SelectionFrontier::result(const State& state, double value,
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

TQ_API double SelectionFrontier::error_bound(const SelectionLimits& limits) const {
  if (!complete_)
    return std::max(by_bytes_.least_error(static_cast<double>(limits.bytes)),
                    by_seconds_.least_error(limits.seconds));
  double least = std::numeric_limits<double>::infinity();
  for (const State& s : states_)
    if (limits.allow(s.cost)) least = std::min(least, s.cost.error);
  return least;
}

TQ_API SelectionResult SelectionFrontier::least_error(const SelectionLimits& limits) const {
  const State& s = best(limits, [](const SelectionCost& a, const SelectionCost& b) {
    return a.error != b.error ? a.error < b.error : a.bytes < b.bytes;
  });
  return result(s, s.cost.error, error_bound(limits));
}

TQ_API SelectionResult SelectionFrontier::fewest_bytes(const SelectionLimits& limits) const {
  const State& s = best(limits, [](const SelectionCost& a, const SelectionCost& b) {
    return a.bytes != b.bytes ? a.bytes < b.bytes : a.error < b.error;
  });
  const double value = detail::bytes_of(s.cost);
  return result(s, value, complete_ ? value : by_bytes_.least_cost(limits.error));
}

TQ_API SelectionResult SelectionFrontier::fewest_seconds(const SelectionLimits& limits) const {
  const State& s = best(limits, [](const SelectionCost& a, const SelectionCost& b) {
    return a.seconds != b.seconds ? a.seconds < b.seconds : a.error < b.error;
  });
  return result(s, s.cost.seconds,
                complete_ ? s.cost.seconds : by_seconds_.least_cost(limits.error));
}

TQ_API SelectionResult SelectionFrontier::balanced(const SelectionLimits& limits) const {
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

TQ_API void SelectionFrontier::refuse(const SelectionLimits& limits) const {
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

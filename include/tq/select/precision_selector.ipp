// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/select/precision_selector.hpp.

#include <tq/error.hpp>
#include <tq/numeric/shortest_text.hpp>
#include <tq/select/precision_selector.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

namespace tq {

TQ_API double PrecisionSelection::bits_per_weight() const noexcept {
  return weights == 0 ? 0 : 8 * static_cast<double>(cost.bytes) / static_cast<double>(weights);
}

TQ_API double PrecisionSelection::sqnr_db() const noexcept {
  return -10 * std::log10(cost.error / static_cast<double>(std::max<std::size_t>(1, nodes.size())));
}

TQ_API PrecisionSelector::PrecisionSelector(PrecisionModel model, std::size_t max_states)
    : model_(std::move(model)), frontier_(detail::problem_of(model_), max_states) {
  for (const PrecisionNode& node : model_.nodes) {
    weights_ += node.weights;
    float_seconds_ += node.candidates.front().seconds;
    for (const PrecisionCandidate& c : node.candidates)
      has_seconds_ = has_seconds_ && c.seconds > 0;
  }
}

namespace detail {

TQ_API std::string short_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

// Throws: errc::bad_argument unless a limit is a number above 0, or 0 where that is allowed.
TQ_API void require_limit(const char* what, const std::optional<double>& limit, bool allows_zero) {
  if (limit && !(std::isfinite(*limit) && (*limit > 0 || (allows_zero && *limit == 0))))
    raise_expected(errc::bad_argument, "tq::PrecisionSelector",
                   {"a finite ", what, allows_zero ? " of at least 0" : " above 0"},
                   {shortest_text(*limit)});
}

TQ_API std::uint64_t bytes_within(double bits, std::uint64_t weights) {
  const double bytes = std::floor(bits * static_cast<double>(weights) / 8);
  return bytes < 0x1p63 ? static_cast<std::uint64_t>(bytes)
                        : std::numeric_limits<std::uint64_t>::max();
}

// "float"; "int4_g32, 4.5 bits, error 0.00314".
TQ_API std::string candidate_text(const PrecisionCandidate& c, std::uint64_t weights) {
  const double bits =
      weights == 0 ? 0 : 8 * static_cast<double>(c.bytes) / static_cast<double>(weights);
  return c.scheme + ", " + short_text(bits) + " bits, error " + short_text(c.error);
}

// The neighbours of a candidate among those that are not dominated: the next of more bytes and less
// error, and the next of fewer bytes.
// The neighbours of a candidate among those that are not dominated: the next of more bytes and less
// error, and the next of fewer bytes.
struct Neighbours {
  const PrecisionCandidate *larger = nullptr, *smaller = nullptr;

  TQ_API Neighbours(const PrecisionNode& node, const PrecisionCandidate& of);
};

TQ_API Neighbours::Neighbours(const PrecisionNode& node, const PrecisionCandidate& of) {
  for (const PrecisionCandidate& c : node.candidates) {
    if (c.error < of.error && c.bytes > of.bytes &&
        (larger == nullptr || c.bytes < larger->bytes ||
         (c.bytes == larger->bytes && c.error < larger->error)))
      larger = &c;
    if (c.bytes < of.bytes && (smaller == nullptr || c.error < smaller->error ||
                               (c.error == smaller->error && c.bytes < smaller->bytes)))
      smaller = &c;
  }
}

TQ_API std::string reason_text(const PrecisionNode& node, const PrecisionCandidate& choice) {
  const Neighbours next(node, choice);
  std::string text = candidate_text(choice, node.weights);
  if (next.larger != nullptr)
    text += "; " + next.larger->scheme + " takes " +
            std::to_string(next.larger->bytes - choice.bytes) + " bytes more for error " +
            short_text(next.larger->error);
  if (next.smaller != nullptr)
    text += "; " + next.smaller->scheme + " saves " +
            std::to_string(choice.bytes - next.smaller->bytes) + " bytes at error " +
            short_text(next.smaller->error);
  if (next.larger == nullptr && next.smaller == nullptr) text += "; nothing is better";
  if (choice.evidence == Evidence::prior) text += "; not measured, by a prior";
  return text;
}

// As in SelectedPrecision.
TQ_API double confidence_of(const PrecisionNode& node, std::size_t choice,
                            const SelectionResult& result) {
  double second = std::numeric_limits<double>::infinity();
  const auto cost = [&](const PrecisionCandidate& c) {
    return c.error + result.price * static_cast<double>(c.bytes);
  };
  for (std::size_t j = 0; j < node.candidates.size(); ++j)
    if (j != choice) second = std::min(second, cost(node.candidates[j]));
  const double own = cost(node.candidates[choice]);
  if (std::isinf(second)) return 1;
  if (own >= second) return 0;
  return (1 - own / second) / (1 + result.gap);
}

}  // namespace detail

TQ_API SelectionLimits PrecisionSelector::limits_of(const PrecisionCriteria& criteria) const {
  detail::require_limit("max_error", criteria.max_error, true);
  detail::require_limit("max_bits_per_weight", criteria.max_bits_per_weight, false);
  detail::require_limit("min_speedup", criteria.min_speedup, false);
  if (criteria.min_sqnr_db && !std::isfinite(*criteria.min_sqnr_db))
    detail::raise_expected(errc::bad_argument, "tq::PrecisionSelector", {"a finite min_sqnr_db"},
                           {detail::shortest_text(*criteria.min_sqnr_db)});
  SelectionLimits limits;
  if (criteria.max_error) limits.error = *criteria.max_error;
  if (criteria.min_sqnr_db)
    limits.error = std::min(limits.error, static_cast<double>(model_.nodes.size()) *
                                              std::pow(10.0, -*criteria.min_sqnr_db / 10));
  if (criteria.max_bytes) limits.bytes = *criteria.max_bytes;
  if (criteria.max_bits_per_weight)
    limits.bytes =
        std::min(limits.bytes, detail::bytes_within(*criteria.max_bits_per_weight, weights_));
  if (criteria.min_speedup) {
    if (!has_seconds_)
      raise(errc::bad_argument,
            "tq::PrecisionSelector: expected seconds of every candidate for min_speedup, got none");
    limits.seconds = float_seconds_ / *criteria.min_speedup;
  }
  return limits;
}

TQ_API SelectionResult PrecisionSelector::result_of(const PrecisionCriteria& criteria) const {
  const SelectionLimits limits = limits_of(criteria);
  const bool limits_size =
      criteria.max_bytes || criteria.max_bits_per_weight || criteria.min_speedup;
  switch (criteria.goal) {
    case PrecisionGoal::performance:
      return has_seconds_ && !model_.nodes.empty() ? frontier_.fewest_seconds(limits)
                                                   : frontier_.fewest_bytes(limits);
    case PrecisionGoal::balanced: return frontier_.balanced(limits);
    case PrecisionGoal::accuracy: return frontier_.least_error(limits);
    case PrecisionGoal::custom: break;
  }
  if (!limits_size && !criteria.max_error && !criteria.min_sqnr_db)
    raise(errc::bad_argument,
          "tq::PrecisionSelector: expected a limit for the custom goal, got none");
  return limits_size ? frontier_.least_error(limits) : frontier_.fewest_bytes(limits);
}

TQ_API SelectedPrecision PrecisionSelector::selected(const PrecisionNode& node, std::size_t choice,
                                                     const SelectionResult& result) const {
  const PrecisionCandidate& c = node.candidates[choice];
  return {node.name, node.weights, c, detail::confidence_of(node, choice, result),
          detail::reason_text(node, c)};
}

TQ_API PrecisionSelection PrecisionSelector::selection(const SelectionResult& result) const {
  PrecisionSelection out;
  for (std::size_t i = 0; i < model_.nodes.size(); ++i)
    out.nodes.push_back(selected(model_.nodes[i], result.choices[i], result));
  out.cost = result.cost;
  out.weights = weights_;
  if (has_seconds_ && result.cost.seconds > 0) out.speedup = float_seconds_ / result.cost.seconds;
  out.graph = frontier_.graph();
  out.bound = result.bound;
  out.gap = result.gap;
  out.optimal = result.optimal;
  return out;
}

TQ_API PrecisionSelection PrecisionSelector::select(const PrecisionCriteria& criteria) const {
  return selection(result_of(criteria));
}

TQ_API PrecisionSelection PrecisionSelector::uniform(std::string_view scheme) const {
  std::vector<std::size_t> candidates;
  for (const PrecisionNode& node : model_.nodes) {
    const PrecisionCandidate* found = detail::find_candidate(node, scheme);
    candidates.push_back(
        found == nullptr ? 0 : static_cast<std::size_t>(found - node.candidates.data()));
  }
  return chosen(std::move(candidates));
}

TQ_API PrecisionSelection PrecisionSelector::chosen(std::vector<std::size_t> candidates) const {
  if (candidates.size() != model_.nodes.size())
    detail::raise_expected(errc::shape_mismatch, "tq::PrecisionSelector",
                           {"a candidate for each of ", model_.nodes.size(), " nodes"},
                           {candidates.size()});
  SelectionResult result;
  result.choices = std::move(candidates);
  for (std::size_t i = 0; i < model_.nodes.size(); ++i) {
    const PrecisionNode& node = model_.nodes[i];
    if (result.choices[i] >= node.candidates.size())
      detail::raise_expected(
          errc::bad_argument, "tq::PrecisionSelector",
          {"one of ", node.candidates.size(), " candidates of ", detail::in_quotes(node.name)},
          {"number ", result.choices[i]});
    const PrecisionCandidate& c = node.candidates[result.choices[i]];
    result.cost += {c.bytes, c.error, c.seconds};
  }
  for (const std::vector<std::size_t>& group : model_.ties)
    for (const std::size_t i : group)
      if (result.choices[i] != result.choices[group.front()])
        detail::raise_text(errc::bad_argument,
                           {"tq::PrecisionSelector: expected one scheme for ",
                            detail::in_quotes(model_.nodes[group.front()].name), " and ",
                            detail::in_quotes(model_.nodes[i].name), ", which are tied"});
  for (const SelectionEdge& edge : model_.edges) {  // aligned with the candidates
    const std::size_t width = model_.nodes[edge.to].candidates.size();
    result.cost += edge.costs[result.choices[edge.from] * width + result.choices[edge.to]];
  }
  return selection(result);
}

}  // namespace tq

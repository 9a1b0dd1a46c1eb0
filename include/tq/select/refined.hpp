// SPDX-License-Identifier: MIT
#pragma once
// refine: a selection made better by what exchanges of schemes do to the whole model.

#include <tq/bodies.hpp>
#include <tq/select/detail/problem.hpp>
#include <tq/select/precision_model.hpp>
#include <tq/select/precision_selector.hpp>
#include <tq/select/probed.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace tq {

/// How long to look for exchanges.
struct RefinementEffort {
  std::size_t rounds = 3;      ///< in each, every node is measured anew around the selection
  std::size_t neighbours = 2;  ///< candidates of more, and of fewer, bytes that are measured
  std::size_t exchanges = 16;  ///< that are measured in a round
};

namespace detail {

// Another candidate for a node and those tied to it, and how the loss changes by it alone.
struct SchemeChange {
  std::vector<std::size_t> nodes;
  std::size_t candidate;
  std::uint64_t more, fewer;  // bytes that it adds, or takes away: at least one of them is 0
  double loss;
};

[[nodiscard]] TQ_API std::uint64_t saturated_sum(std::uint64_t a, std::uint64_t b) noexcept;
// Whether changes that add and take away so many bytes fit into the room that is left.
[[nodiscard]] TQ_API bool fits_room(std::uint64_t more, std::uint64_t fewer,
                                    std::uint64_t room) noexcept;

// The candidates next to `current` by bytes, `count` on either side.
[[nodiscard]] TQ_API std::vector<std::size_t> neighbours_of(const PrecisionNode& node,
                                                            std::size_t current, std::size_t count);

// A selection by numbers of candidates, its loss, and what makes it better.
template <class Evaluate>
class Refinement {
 public:
  Refinement(const PrecisionSelector& selector, ValidatedPrecision from, std::uint64_t max_bytes,
             Evaluate& evaluate)
      : selector_(selector), best_(std::move(from)), max_bytes_(max_bytes), evaluate_(evaluate) {
    const std::vector<PrecisionNode>& nodes = selector.model().nodes;
    const std::vector<std::size_t> merged = merged_numbers(
        {std::vector<std::vector<SelectionCost>>(nodes.size()), selector.model().ties, {}});
    if (best_.selection.nodes.size() != nodes.size())
      raise_expected(errc::bad_argument, "tq::refined", {"a selection of ", nodes.size(), " nodes"},
                     {"one of ", best_.selection.nodes.size()});
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (merged[i] == groups_.size()) groups_.emplace_back();
      groups_[merged[i]].push_back(i);
      const PrecisionCandidate* c =
          find_candidate(nodes[i], best_.selection.nodes[i].choice.scheme);
      if (c == nullptr)
        raise_expected(errc::bad_argument, "tq::refined",
                       {"a candidate of ", in_quotes(nodes[i].name)},
                       {in_quotes(best_.selection.nodes[i].choice.scheme)});
      choices_.push_back(static_cast<std::size_t>(c - nodes[i].candidates.data()));
    }
  }

  // Whether a round found something better.
  bool improve(const RefinementEffort& effort) {
    const std::vector<SchemeChange> changes = measured_changes(effort.neighbours);
    std::vector<bool> is_settled(choices_.size());
    bool found = false;
    std::size_t left = effort.exchanges;
    for (const auto& [loss, first, second] : exchanges(changes)) {
      if (left == 0) break;
      std::vector<const SchemeChange*> pair{&changes[first]};
      if (second != first) pair.push_back(&changes[second]);
      if (std::any_of(pair.begin(), pair.end(),
                      [&](const SchemeChange* c) { return is_settled[c->nodes.front()]; }))
        continue;
      const auto tried = try_changes(pair);
      if (tried == Tried::over_budget) continue;
      --left;
      if (tried == Tried::worse) continue;
      found = true;
      for (const SchemeChange* c : pair) is_settled[c->nodes.front()] = true;
    }
    return found;
  }

  [[nodiscard]] ValidatedPrecision take() && { return std::move(best_); }

 private:
  enum class Tried { better, worse, over_budget };
  struct Exchange {
    double loss;  // expected, of both changes
    std::size_t first, second;
  };

  // Every loss that is a number is better than none.
  [[nodiscard]] double best_loss() const noexcept {
    return std::isnan(best_.loss) ? std::numeric_limits<double>::infinity() : best_.loss;
  }

  Tried try_changes(std::span<const SchemeChange* const> changes) {
    std::vector<std::size_t> choices = choices_;
    for (const SchemeChange* c : changes)
      for (const std::size_t i : c->nodes) choices[i] = c->candidate;
    PrecisionSelection selection = selector_.chosen(choices);
    if (selection.cost.bytes > max_bytes_) return Tried::over_budget;
    const double loss = evaluate_(std::as_const(selection));
    if (!(loss < best_loss())) return Tried::worse;
    best_ = {std::move(selection), loss, {}};
    choices_ = std::move(choices);
    return Tried::better;
  }

  // The effect of every neighbour of every choice alone, within the budget or not.
  std::vector<SchemeChange> measured_changes(std::size_t neighbours) {
    std::vector<SchemeChange> out;
    for (const std::vector<std::size_t>& group : groups_) {
      const std::size_t current = choices_[group.front()];
      for (const std::size_t j :
           neighbours_of(selector_.model().nodes[group.front()], current, neighbours)) {
        std::vector<std::size_t> choices = choices_;
        for (const std::size_t i : group) choices[i] = j;
        const PrecisionSelection selection = selector_.chosen(std::move(choices));
        const double loss = evaluate_(selection);
        const std::uint64_t bytes = selection.cost.bytes, before = best_.selection.cost.bytes;
        if (std::isfinite(loss))
          out.push_back({group, j, bytes > before ? bytes - before : 0,
                         bytes < before ? before - bytes : 0, loss - best_loss()});
      }
    }
    return out;
  }

  // The changes and pairs of changes that are expected to lower the loss within the budget, best
  // first.
  std::vector<Exchange> exchanges(const std::vector<SchemeChange>& changes) const {
    const std::uint64_t room = max_bytes_ - best_.selection.cost.bytes;
    std::vector<Exchange> out;
    for (std::size_t a = 0; a < changes.size(); ++a) {
      const SchemeChange& first = changes[a];
      if (first.loss < 0 && fits_room(first.more, first.fewer, room))
        out.push_back({first.loss, a, a});
      for (std::size_t b = a + 1; b < changes.size(); ++b) {
        const SchemeChange& second = changes[b];
        if (first.nodes.front() != second.nodes.front() && first.loss + second.loss < 0 &&
            fits_room(saturated_sum(first.more, second.more),
                      saturated_sum(first.fewer, second.fewer), room))
          out.push_back({first.loss + second.loss, a, b});
      }
    }
    std::stable_sort(out.begin(), out.end(),
                     [](const Exchange& a, const Exchange& b) { return a.loss < b.loss; });
    return out;
  }

  const PrecisionSelector& selector_;
  ValidatedPrecision best_;
  std::uint64_t max_bytes_;
  Evaluate& evaluate_;
  std::vector<std::vector<std::size_t>> groups_;  // of nodes that are tied
  std::vector<std::size_t> choices_;
};

}  // namespace detail

/// Exchanges schemes while the loss of the whole model, evaluate(selection), falls: one node gets a
/// candidate near its own by bytes, and another gives the bytes back. In every round each such
/// change is measured alone, and then the exchanges that should gain most are. Errors of nodes
/// alone do not add up where they are large; these need not. The result takes at most `max_bytes`
/// and is never worse than `from`.
/// Throws: `errc::bad_argument` where `from` takes more than `max_bytes`, or is not a selection of
/// the selector's model.
template <class Evaluate>
  requires std::invocable<Evaluate&, const PrecisionSelection&>
[[nodiscard]] ValidatedPrecision refined(const PrecisionSelector& selector, ValidatedPrecision from,
                                         std::uint64_t max_bytes, Evaluate&& evaluate,
                                         const RefinementEffort& effort = {}) {
  if (from.selection.cost.bytes > max_bytes)
    detail::raise_expected(errc::bad_argument, "tq::refined",
                           {"a selection of at most ", max_bytes, " bytes"},
                           {from.selection.cost.bytes});
  detail::Refinement refinement(selector, std::move(from), max_bytes, evaluate);
  for (std::size_t i = 0; i < effort.rounds && refinement.improve(effort); ++i) {
  }
  return std::move(refinement).take();
}

}  // namespace tq

#ifndef TQ_FILE_LIBRARY
#include <tq/select/refined.ipp>
#endif

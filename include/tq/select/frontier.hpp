// SPDX-License-Identifier: MIT
#pragma once
// SelectionFrontier: all best selections of a problem, whatever the budget.

#include <tq/bodies.hpp>
#include <tq/error.hpp>
#include <tq/select/detail/hull_bound.hpp>
#include <tq/select/detail/problem.hpp>
#include <tq/select/detail/reduce.hpp>
#include <tq/select/detail/states.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace tq {

namespace detail {
[[nodiscard]] TQ_API std::string limit_text(std::uint64_t value);
[[nodiscard]] TQ_API std::string limit_text(double value);
}  // namespace detail

/// Upper limits of the three costs of a selection.
struct SelectionLimits {
  std::uint64_t bytes = std::numeric_limits<std::uint64_t>::max();
  double error = std::numeric_limits<double>::infinity();
  double seconds = std::numeric_limits<double>::infinity();

  [[nodiscard]] TQ_API bool allow(const SelectionCost& c) const noexcept;
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
  TQ_API explicit SelectionFrontier(const SelectionProblem& problem,
                                    std::size_t max_states = default_max_states);

  /// The costs of the selections, by rising bytes.
  [[nodiscard]] TQ_API std::vector<SelectionCost> costs() const;
  /// Whether no selection is missing.
  [[nodiscard]] bool is_complete() const noexcept { return complete_; }
  [[nodiscard]] SelectionGraph graph() const noexcept { return graph_; }

  /// The selection of least error, and of those the one of fewest bytes. Throws:
  /// `errc::bad_argument` where none is within the limits; the text names what can be reached.
  [[nodiscard]] TQ_API SelectionResult least_error(const SelectionLimits& limits = {}) const;
  /// The one of fewest bytes, and of those the one of least error. Throws: as `least_error`.
  [[nodiscard]] TQ_API SelectionResult fewest_bytes(const SelectionLimits& limits = {}) const;
  /// The one that takes least time, and of those the one of least error. Throws: as `least_error`.
  [[nodiscard]] TQ_API SelectionResult fewest_seconds(const SelectionLimits& limits = {}) const;
  /// The one where bytes, error and seconds, each in parts of its range among the selections within
  /// the limits, have the least sum: the knee of the frontier. Its bound is that of the error of
  /// selections within the limits that take no more bytes, whatever their seconds: it is optimal
  /// where none of these has less error. Throws: as `least_error`.
  [[nodiscard]] TQ_API SelectionResult balanced(const SelectionLimits& limits = {}) const;

 private:
  using State = detail::SelectionState;

  TQ_API void solve(const detail::MergedProblem& merged, std::size_t max_states);
  TQ_API void solve_nodes(const detail::MergedProblem& merged, detail::SelectionStates& states);
  TQ_API void add_left_out(const detail::MergedProblem& merged,
                           const std::vector<const SelectionEdge*>& edges);
  [[nodiscard]] TQ_API std::vector<std::size_t> merged_choices(const State& state) const;
  [[nodiscard]] TQ_API const State& best(const SelectionLimits& limits, auto&& before) const;
  // `value`: what was asked for; `bound`: below which it is not, exact where the list is complete.
  [[nodiscard]] TQ_API SelectionResult result(const State& state, double value, double bound) const;
  // The least error within the limits: of the list where it is complete, else by relaxation.
  [[nodiscard]] TQ_API double error_bound(const SelectionLimits& limits) const;
  [[noreturn]] TQ_API void refuse(const SelectionLimits& limits) const;

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

}  // namespace tq

#ifndef TQ_FILE_LIBRARY
#include <tq/select/frontier.ipp>
#endif

// SPDX-License-Identifier: MIT
#pragma once
// GreedyPath: selections that take one step along the hulls after the other; and what they prove of
// candidates that no best selection has.

#include <tq/select/detail/hull_bound.hpp>
#include <tq/select/detail/problem.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

namespace tq::detail {

// The cheapest selection, and the ones after so many steps of a bound: their errors fall. Each sum
// is taken anew, in the order of the nodes; where that takes too long, after every few steps only.
class GreedyPath {
 public:
  GreedyPath(const std::vector<std::vector<SelectionCost>>& nodes, const HullBound& bound)
      : bound_(bound) {
    constexpr std::size_t most = std::size_t{1} << 26;
    const std::size_t steps = bound.steps().size();
    stride_ = std::max<std::size_t>(1, nodes.size() * steps / most);
    std::vector<std::size_t> choices = bound.cheapest();
    for (std::size_t k = 0; k <= steps; ++k) {
      if (k > 0) step(k - 1, choices);
      if (k % stride_ != 0) continue;
      SelectionCost sum;
      for (std::size_t i = 0; i < nodes.size(); ++i) sum += nodes[i][choices[i]];
      costs_.push_back(sum);
    }
  }

  [[nodiscard]] const std::vector<SelectionCost>& costs() const noexcept { return costs_; }
  // The choices with the k-th costs.
  [[nodiscard]] std::vector<std::size_t> choices(std::size_t k) const {
    std::vector<std::size_t> choices = bound_.cheapest();
    for (std::size_t i = 0; i < k * stride_; ++i) step(i, choices);
    return choices;
  }

 private:
  void step(std::size_t k, std::vector<std::size_t>& choices) const {
    choices[bound_.steps()[k].node] = bound_.steps()[k].candidate;
  }

  HullBound bound_;
  std::size_t stride_ = 1;  // steps from one to the next
  std::vector<SelectionCost> costs_;
};

// True if a selection with this candidate of a node may be better, at some budget, than the whole
// path. `others` is the bound of the other nodes.
[[nodiscard]] inline bool may_be_best(const SelectionCost& candidate, const HullBound& others,
                                      const std::vector<SelectionCost>& path) {
  std::size_t next = 0;
  for (std::size_t k = 0; k < path.size(); ++k) {
    const double budget = k + 1 < path.size() ? bytes_of(path[k + 1])  // below it path[k] is best
                                              : std::numeric_limits<double>::infinity();
    const double left = budget - bytes_of(candidate);
    if (candidate.error + others.least_error(left, next) < path[k].error) return true;
  }
  return false;
}

// Leaves out candidates that are in no selection better than the path, whatever the budget; keeps
// those of the path and of selections that may be better. Returns the costs that are left, and
// their numbers. Only bytes and errors count.
struct ReducedNodes {
  std::vector<std::vector<SelectionCost>> nodes;
  std::vector<std::vector<std::size_t>> numbers;  // of candidates before
};
[[nodiscard]] inline ReducedNodes reduced(const std::vector<std::vector<SelectionCost>>& nodes,
                                          const HullBound& bound, const GreedyPath& path) {
  ReducedNodes out;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::vector<std::size_t> hull = hull_of(nodes[i], bytes_of);
    const HullBound others = bound.without(i);
    out.nodes.emplace_back();
    out.numbers.emplace_back();
    for (std::size_t j = 0; j < nodes[i].size(); ++j) {
      const bool is_on_hull = std::find(hull.begin(), hull.end(), j) != hull.end();
      if (!is_on_hull && !may_be_best(nodes[i][j], others, path.costs())) continue;
      out.nodes[i].push_back(nodes[i][j]);
      out.numbers[i].push_back(j);
    }
  }
  return out;
}

}  // namespace tq::detail

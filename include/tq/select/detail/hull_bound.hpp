// SPDX-License-Identifier: MIT
#pragma once
// HullBound: how small the error of a selection can be at best, by a linear relaxation.

#include <tq/select/detail/problem.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace tq::detail {

// A step along the lower convex hull of the candidates of a node: more cost, less error.
struct HullStep {
  std::size_t node = 0, candidate = 0;  // that it leads to
  double cost = 0, saved = 0;           // what it adds, and the error that it takes away
  [[nodiscard]] double slope() const noexcept { return saved / cost; }
};

// The costs that bounds are computed for.
[[nodiscard]] inline double bytes_of(const SelectionCost& c) {
  return static_cast<double>(c.bytes);
}
[[nodiscard]] inline double seconds_of(const SelectionCost& c) { return c.seconds; }

// The numbers of the candidates on the lower left convex hull of (cost, error), from the least cost
// to the least error. The first of equal candidates is taken.
template <class CostOf>
[[nodiscard]] std::vector<std::size_t> hull_of(const std::vector<SelectionCost>& candidates,
                                               CostOf cost_of) {
  std::vector<std::size_t> order(candidates.size()), hull;
  for (std::size_t j = 0; j < order.size(); ++j) order[j] = j;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const double x = cost_of(candidates[a]), y = cost_of(candidates[b]);
    return x != y ? x < y : candidates[a].error < candidates[b].error;
  });
  const auto slope = [&](std::size_t a, std::size_t b) {
    return (candidates[a].error - candidates[b].error) /
           (cost_of(candidates[b]) - cost_of(candidates[a]));
  };
  for (const std::size_t j : order) {
    if (!hull.empty() && (candidates[j].error >= candidates[hull.back()].error ||
                          cost_of(candidates[j]) == cost_of(candidates[hull.back()])))
      continue;
    while (hull.size() > 1 && slope(hull[hull.size() - 2], hull.back()) <= slope(hull.back(), j))
      hull.pop_back();
    hull.push_back(j);
  }
  return hull;
}

// The linear relaxation of a selection: parts of candidates may be mixed. Its error is at most that
// of any selection of the same cost.
class HullBound {
 public:
  template <class CostOf>
  HullBound(const std::vector<std::vector<SelectionCost>>& nodes, CostOf cost_of) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const std::vector<std::size_t> hull = hull_of(nodes[i], cost_of);
      cheapest_.push_back(hull.front());
      base_cost_.push_back(cost_of(nodes[i][hull.front()]));
      base_error_.push_back(nodes[i][hull.front()].error);
      for (std::size_t k = 1; k < hull.size(); ++k) {
        const SelectionCost &before = nodes[i][hull[k - 1]], &after = nodes[i][hull[k]];
        steps_.push_back(
            {i, hull[k], cost_of(after) - cost_of(before), before.error - after.error});
      }
    }
    std::stable_sort(steps_.begin(), steps_.end(),
                     [](const HullStep& a, const HullStep& b) { return a.slope() > b.slope(); });
    add_up(nodes.size());
  }

  // The bound of all nodes but one.
  [[nodiscard]] HullBound without(std::size_t node) const {
    HullBound out(*this);
    std::erase_if(out.steps_, [&](const HullStep& s) { return s.node == node; });
    out.base_cost_[node] = out.base_error_[node] = 0;
    out.add_up(base_cost_.size());
    return out;
  }

  // The candidates of least cost, and the steps from there by falling slope.
  [[nodiscard]] const std::vector<std::size_t>& cheapest() const noexcept { return cheapest_; }
  [[nodiscard]] const std::vector<HullStep>& steps() const noexcept { return steps_; }

  // No selection of that cost has less error: rounded down; infinite where the cost is too small.
  [[nodiscard]] double least_error(double cost) const {
    const auto after = std::upper_bound(cost_.begin(), cost_.end(), cost * (1 + rounding_));
    return at(static_cast<std::size_t>(after - cost_.begin()), cost * (1 + rounding_));
  }
  // The same for costs that rise from call to call; `next` begins with 0.
  [[nodiscard]] double least_error(double cost, std::size_t& next) const {
    while (next < cost_.size() && cost_[next] <= cost * (1 + rounding_)) ++next;
    return at(next, cost * (1 + rounding_));
  }
  // No selection of that error costs less: rounded down; infinite where the error is too small.
  [[nodiscard]] double least_cost(double error) const {
    for (std::size_t k = 0; k < cost_.size(); ++k) {
      if (error_[k] - slack_ > error) continue;
      if (k == 0) return cost_[0] * (1 - rounding_);
      const double part = (error_[k - 1] - slack_ - error) / steps_[k - 1].saved;
      return (cost_[k - 1] + std::clamp(part, 0.0, 1.0) * steps_[k - 1].cost) * (1 - rounding_);
    }
    return std::numeric_limits<double>::infinity();
  }
  // The error that one more unit of cost saves at that cost; 0 where it saves none.
  [[nodiscard]] double price(double cost) const {
    const auto next = static_cast<std::size_t>(std::upper_bound(cost_.begin(), cost_.end(), cost) -
                                               cost_.begin());
    return next > steps_.size() || steps_.empty() ? 0 : steps_[next == 0 ? 0 : next - 1].slope();
  }

 private:
  // Where cost_[next] is the first that is larger than the cost.
  [[nodiscard]] double at(std::size_t next, double cost) const {
    if (next == 0) return std::numeric_limits<double>::infinity();
    double error = error_[next - 1];
    if (next < cost_.size())
      error -= (cost - cost_[next - 1]) / steps_[next - 1].cost * steps_[next - 1].saved;
    return std::max(0.0, error - slack_);
  }
  void add_up(std::size_t nodes) {
    double cost = 0, error = 0;
    for (const double c : base_cost_) cost += c;
    for (const double e : base_error_) error += e;
    cost_.assign(1, cost);
    error_.assign(1, error);
    rounding_ =
        8 * std::numeric_limits<double>::epsilon() * static_cast<double>(nodes + steps_.size());
    slack_ = rounding_ * error;
    for (const HullStep& s : steps_) {
      cost_.push_back(cost_.back() + s.cost);
      error_.push_back(error_.back() - s.saved);
    }
  }

  std::vector<std::size_t> cheapest_;
  std::vector<double> base_cost_, base_error_;  // of every node
  std::vector<HullStep> steps_;
  std::vector<double> cost_, error_;  // after so many steps
  double rounding_ = 0;               // more than the relative rounding of any of these sums
  double slack_ = 0;                  // and of what errors are after steps
};

}  // namespace tq::detail

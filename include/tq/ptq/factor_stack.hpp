// SPDX-License-Identifier: MIT
#pragma once
// FactorStack: the factors of a HessianStack.

#include <tq/arch/isa.hpp>
#include <tq/core/executor.hpp>
#include <tq/error.hpp>
#include <tq/ptq/detail/stacked_rows.hpp>
#include <tq/ptq/factor.hpp>
#include <tq/ptq/hessian_stack.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tq {

/// A factor for each group of a layer. `factor` makes it.
class FactorStack {
 public:
  /// Throws: `errc::bad_argument` for no groups; `errc::shape_mismatch` for groups of different
  /// inputs.
  explicit FactorStack(std::vector<HessianFactor> groups) : groups_(std::move(groups)) {
    detail::require_same_inputs("tq::FactorStack", groups_);
  }

  [[nodiscard]] std::size_t groups() const noexcept { return groups_.size(); }
  /// Inputs of a group.
  [[nodiscard]] std::size_t inputs() const noexcept { return groups_.front().inputs(); }
  /// Precondition: g < groups().
  [[nodiscard]] const HessianFactor& operator[](std::size_t g) const noexcept { return groups_[g]; }
  /// The fewest tokens of a group.
  [[nodiscard]] std::uint64_t tokens() const noexcept {
    return std::ranges::min(groups_, {}, &HessianFactor::tokens).tokens();
  }
  /// Columns whose input is always 0, of all groups.
  [[nodiscard]] std::size_t dead_columns() const noexcept {
    std::size_t sum = 0;
    for (const HessianFactor& f : groups_) sum += f.dead_columns();
    return sum;
  }
  /// The mean lambda of groups.
  [[nodiscard]] double damping_used() const noexcept {
    double sum = 0;
    for (const HessianFactor& f : groups_) sum += f.damping_used();
    return sum / static_cast<double>(groups());
  }

 private:
  std::vector<HessianFactor> groups_;
};

namespace detail {

// The factors of `groups` Hessians, hessian(g).
template <class Arch, class Get, Executor E>
[[nodiscard]] FactorStack factors_of(std::size_t groups, const Get& hessian,
                                     const FactorOptions& options, const E& executor) {
  require_groups("tq::factor", groups);
  std::vector<std::optional<HessianFactor>> made(groups);
  std::vector<unsigned char> is_dead(groups);
  for_each_group(groups, executor, [&](std::size_t g, const auto& inner) {
    FactorPlan plan(hessian(g), options);
    is_dead[g] = plan.is_dead();
    if (plan.is_dead()) plan.lambda = 1;
    made[g].emplace(factor_by<Arch>(hessian(g), std::move(plan), inner));
  });
  if (std::ranges::find(is_dead, 0) == is_dead.end()) refuse_dead();
  std::vector<HessianFactor> out;
  out.reserve(groups);
  for (auto& f : made) out.push_back(*std::move(f));
  return FactorStack(std::move(out));
}

}  // namespace detail

/// The factor of every group, with the bits of `factor` of its Hessian. A group whose inputs are
/// all always 0 has lambda 1, so that its weights are rounded to nearest. Throws: as `factor`.
template <class Arch = arch::native, HessianMatrix H, Executor E = Serial>
[[nodiscard]] FactorStack factor(const HessianStack<H>& h, const FactorOptions& options = {},
                                 const E& executor = serial) {
  return detail::factors_of<Arch>(
      h.groups(), [&](std::size_t g) -> const H& { return h[g]; }, options, executor);
}

}  // namespace tq

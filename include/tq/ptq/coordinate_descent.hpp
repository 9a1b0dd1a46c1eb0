// SPDX-License-Identifier: MIT
#pragma once
// coordinate_descent: codes changed one by one, each to the best while all others stay.

#include <tq/arch/isa.hpp>
#include <tq/core/executor.hpp>
#include <tq/core/quantized_tensor.hpp>
#include <tq/core/readable.hpp>
#include <tq/ops/backend/backend.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/detail/read_floats.hpp>
#include <tq/ops/pack.hpp>
#include <tq/ptq/detail/column_groups.hpp>
#include <tq/ptq/detail/damped_hessian.hpp>
#include <tq/ptq/detail/descent_strip.hpp>
#include <tq/ptq/detail/lane_grid.hpp>
#include <tq/ptq/detail/require_same_layer.hpp>
#include <tq/ptq/detail/stacked_rows.hpp>
#include <tq/ptq/factor.hpp>
#include <tq/ptq/factor_stack.hpp>
#include <tq/ptq/hessian_stack.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tq {

/// Options of `coordinate_descent`.
struct DescentOptions {
  std::size_t sweeps = 2;  ///< at most: a row without a change is done
};

/// Losses are those of `GptqResult`.
struct DescentResult {
  std::vector<std::size_t> changed;  ///< codes that each sweep changed, up to one without changes
  double damped_loss_before, damped_loss;
  double loss;
};

namespace detail {

// The losses, under H + lambda I, and the columns of a descent.
struct DescentPlan {
  double lambda;
  std::span<const std::uint32_t> order;
  std::size_t sweeps;
};

// Codes [outputs, inputs] under the parameters of `groups`, and their values.
template <class Strip, class Groups>
struct DescentCodes {
  const Groups& groups;
  const typename Strip::grid_type& grid;
  const float* values;
  typename Strip::code_type* codes;
};

// Changes the codes.
template <class Strip, HessianMatrix H, class Groups, Executor E>
DescentResult descend(const ConstTensorView& weights, const H& h, const DescentPlan& plan,
                      const DescentCodes<Strip, Groups>& under, const E& executor) {
  const DampedHessian damped(h, plan.lambda, executor);
  const std::size_t outputs = weights.shape()[0],
                    strips = (outputs + Strip::rows - 1) / Strip::rows;
  std::vector<DescentLosses> rows(outputs);
  std::vector<std::vector<std::size_t>> changed(strips);  // by sweeps
  executor(strips, [&](std::size_t s) {
    const std::size_t first = s * Strip::rows, count = std::min(Strip::rows, outputs - first);
    Strip strip(damped, weights, under.values, under.grid, first, count);
    for (std::size_t r = 0; r < count; ++r) rows[first + r].damped_before = strip.loss(r).damped;
    for (std::size_t sweep = 0; sweep < plan.sweeps; ++sweep) {
      changed[s].push_back(strip.sweep(plan.order, under.groups, under.codes));
      if (changed[s].back() == 0) break;
    }
    for (std::size_t r = 0; r < count; ++r) rows[first + r].after = strip.loss(r);
  });
  DescentResult out{{}, 0, 0, 0};
  for (const std::vector<std::size_t>& sweeps : changed) {
    out.changed.resize(std::max(out.changed.size(), sweeps.size()));
    for (std::size_t i = 0; i < sweeps.size(); ++i) out.changed[i] += sweeps[i];
  }
  for (const DescentLosses& row : rows) {
    out.damped_loss_before += row.damped_before;
    out.damped_loss += row.after.damped;
    out.loss += row.after.plain;
  }
  return out;
}

// The same of the rows of a grouped layer: hessian(g) and plan(g) are those of a group.
template <class Strip, class Get, class Plan, class Groups, Executor E>
DescentResult descend(const StackedRows& weights, const Get& hessian, const Plan& plan,
                      const DescentCodes<Strip, Groups>& under, const E& executor) {
  std::vector<DescentResult> made(weights.groups());
  for_each_group(weights.groups(), executor, [&](std::size_t g, const auto& inner) {
    const std::size_t first = g * weights.outputs_of_group(), at = first * weights.inputs();
    const GroupsFrom<Groups> groups{under.groups, first};
    made[g] = descend(weights.group(g), hessian(g), plan(g),
                      DescentCodes<Strip, GroupsFrom<Groups>>{groups, under.grid, under.values + at,
                                                              under.codes + at},
                      inner);
  });
  DescentResult out{{}, 0, 0, 0};
  for (const DescentResult& group : made) {
    out.changed.resize(std::max(out.changed.size(), group.changed.size()));
    for (std::size_t i = 0; i < group.changed.size(); ++i) out.changed[i] += group.changed[i];
    out.damped_loss_before += group.damped_loss_before;
    out.damped_loss += group.damped_loss;
    out.loss += group.loss;
  }
  return out;
}

// Changes the codes of `tensor` by change(groups, grid, values, codes).
template <Backend B, class Strip, AnyParams Params, class Change>
DescentResult change_codes(QuantizedTensor<Params>& tensor, const Change& change) {
  Buffer<typename Params::code_type> codes(tensor.size());
  unpack<typename Params::type>(std::span<const std::byte>(tensor.bytes()), codes.span());
  const std::vector<float> values = dequantize(tensor, on<B>);
  const ColumnGroups<Params> groups(tensor.params(), tensor.shape());
  const typename Strip::grid_type grid(Strip::rows);
  const DescentResult out =
      change(DescentCodes<Strip, ColumnGroups<Params>>{groups, grid, values.data(), codes.data()});
  pack_unchecked<typename Params::type, LowFirst, B>(codes.span(), tensor.bytes());
  return out;
}

}  // namespace detail

/// Changes codes of `tensor`, which quantizes `weights` [outputs, inputs], column by column in the
/// order of `factor`, which was made of `h`: every code to the nearest of the best value while the
/// others of its row stay, so that the damped loss never rises. Parameters stay. The result does
/// not depend on the executor or the instruction set. Source: Nair and Suggala, "CDQuant", 2024.
/// Throws: `errc::shape_mismatch` for other shapes; `errc::not_finite` for NaN or infinite weights.
/// Nothing is changed then.
template <Backend B = default_backend, class Arch = arch::native, AnyParams Params, HessianMatrix H,
          Executor E = Serial, Readable X = ConstTensorView>
DescentResult coordinate_descent(const X& weights, const H& h, const HessianFactor& factor,
                                 QuantizedTensor<Params>& tensor,
                                 const DescentOptions& options = {}, const E& executor = serial) {
  constexpr const char* function = "tq::coordinate_descent";
  const auto floats = detail::read_floats(function, weights);
  const auto& view = floats.view();
  detail::require_same_layer(function, view, h, factor, tensor.shape());
  using Strip = detail::DescentStrip<detail::LaneGrid<B, Params>, Arch>;
  return detail::change_codes<B, Strip>(tensor, [&](const auto& codes) {
    return detail::descend(view, h, {factor.damping_used(), factor.order(), options.sweeps}, codes,
                           executor);
  });
}

/// The same of a grouped layer, with weights as `gptq` takes them, codes and losses of every group
/// by itself. Throws: as above.
template <Backend B = default_backend, class Arch = arch::native, AnyParams Params, HessianMatrix H,
          Executor E = Serial, Readable X = ConstTensorView>
DescentResult coordinate_descent(const X& weights, const HessianStack<H>& h,
                                 const FactorStack& factors, QuantizedTensor<Params>& tensor,
                                 const DescentOptions& options = {}, const E& executor = serial) {
  constexpr const char* function = "tq::coordinate_descent";
  const auto floats = detail::read_floats(function, weights);
  const detail::StackedRows rows(function, floats.view(), h.groups(), h.inputs());
  detail::require_same_groups(function, h, factors);
  detail::require_codes(function, rows.shape(), tensor.shape());
  using Strip = detail::DescentStrip<detail::LaneGrid<B, Params>, Arch>;
  return detail::change_codes<B, Strip>(tensor, [&](const auto& codes) {
    return detail::descend(
        rows, [&](std::size_t g) -> const H& { return h[g]; },
        [&](std::size_t g) {
          return detail::DescentPlan{factors[g].damping_used(), factors[g].order(), options.sweeps};
        },
        codes, executor);
  });
}

}  // namespace tq

// SPDX-License-Identifier: MIT
#pragma once
// gptq: weights rounded column by column, where later columns make up for the errors of earlier
// ones.

#include <tq/core/detail/require_fit.hpp>
#include <tq/core/executor.hpp>
#include <tq/core/fit_params.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/core/readable.hpp>
#include <tq/ops/backend/backend.hpp>
#include <tq/ops/detail/read_floats.hpp>
#include <tq/ops/pack.hpp>
#include <tq/ptq/detail/column_groups.hpp>
#include <tq/ptq/detail/dynamic_groups.hpp>
#include <tq/ptq/detail/gptq_strip.hpp>
#include <tq/ptq/detail/lane_grid.hpp>
#include <tq/ptq/detail/require_weights.hpp>
#include <tq/ptq/detail/stacked_rows.hpp>
#include <tq/ptq/factor.hpp>
#include <tq/ptq/factor_stack.hpp>
#include <tq/ptq/gptq_result.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tq {

/// Parameters of a group are those of its columns with all feedback so far, when the group begins.
struct DynamicGroups {};

namespace detail {

// Codes and losses of all rows.
template <class Code>
struct GptqRows {
  Buffer<Code> codes;
  std::vector<RowLoss> chosen, rounded;
  std::vector<unsigned char> is_rounded;

  GptqRows(std::size_t rows, std::size_t columns)
      : codes(rows * columns), chosen(rows), rounded(rows), is_rounded(rows) {}

  // Takes row `r` of a strip as number `first + r`: by feedback, unless rounding is better.
  template <class Strip>
  void take(const Strip& strip, std::size_t first, std::size_t r) {
    const RowLoss by_feedback = strip.loss(r), by_rounding = strip.loss(Strip::rows + r);
    const bool worse = by_rounding.plain < by_feedback.plain;
    strip.copy_codes(worse ? Strip::rows + r : r,
                     codes.data() + (first + r) * (codes.size() / chosen.size()));
    chosen[first + r] = worse ? by_rounding : by_feedback;
    rounded[first + r] = by_rounding;
    is_rounded[first + r] = worse;
  }
  // Takes the rows of a group as rows from `first` on.
  void put(const GptqRows& group, std::size_t first) {
    const auto at = static_cast<std::ptrdiff_t>(first);
    const std::size_t columns = codes.size() / std::max<std::size_t>(chosen.size(), 1);
    std::copy_n(group.codes.data(), group.codes.size(), codes.data() + first * columns);
    std::ranges::copy(group.chosen, chosen.begin() + at);
    std::ranges::copy(group.rounded, rounded.begin() + at);
    std::ranges::copy(group.is_rounded, is_rounded.begin() + at);
  }
};

// Calls rows(strip, first, count) for all rows, a strip at a time.
template <class Strip, Executor E, class Rows>
void for_each_strip(std::size_t outputs, const HessianFactor& factor,
                    const typename Strip::grid_type& grid, const E& executor, const Rows& rows) {
  const std::size_t strips = (outputs + Strip::rows - 1) / Strip::rows,
                    threads = std::max<std::size_t>(executor.concurrency(), 1),
                    tasks = threads == 1 ? std::min<std::size_t>(strips, 1)
                                         : std::min(strips, 2 * threads);
  executor(tasks, [&](std::size_t task) {
    Strip strip(factor, grid);
    for (std::size_t s = task; s < strips; s += tasks)
      rows(strip, s * Strip::rows, std::min(Strip::rows, outputs - s * Strip::rows));
  });
}

// The codes of all rows under the fixed parameters of `groups`.
template <class Strip, class Groups, Executor E>
[[nodiscard]] GptqRows<typename Strip::code_type> gptq_rows(const ConstTensorView& weights,
                                                            const HessianFactor& factor,
                                                            const Groups& groups,
                                                            const typename Strip::grid_type& grid,
                                                            const E& executor) {
  const std::size_t outputs = weights.shape()[0];
  GptqRows<typename Strip::code_type> out(outputs, weights.shape()[1]);
  for_each_strip<Strip>(outputs, factor, grid, executor,
                        [&](Strip& strip, std::size_t first, std::size_t count) {
                          std::size_t group = ~std::size_t{0};
                          strip.run(weights, first, count, [&](Strip& s, std::size_t place) {
                            if (group == groups.group(factor.order()[place])) return;
                            group = groups.group(factor.order()[place]);
                            for (std::size_t r = 0; r < count; ++r) {
                              const auto affine = groups.affine(first + r, group);
                              s.grid().set(r, affine);
                              s.grid().set(Strip::rows + r, affine);
                            }
                          });
                          for (std::size_t r = 0; r < count; ++r) out.take(strip, first, r);
                        });
  return out;
}

// The same of the rows of a grouped layer.
template <class Strip, class Groups, Executor E>
[[nodiscard]] GptqRows<typename Strip::code_type> gptq_rows(const StackedRows& weights,
                                                            const FactorStack& factors,
                                                            const Groups& groups,
                                                            const typename Strip::grid_type& grid,
                                                            const E& executor) {
  GptqRows<typename Strip::code_type> out(weights.outputs(), weights.inputs());
  for_each_group(weights.groups(), executor, [&](std::size_t g, const auto& inner) {
    const std::size_t first = g * weights.outputs_of_group();
    out.put(gptq_rows<Strip>(weights.group(g), factors[g], GroupsFrom<Groups>{groups, first}, grid,
                             inner),
            first);
  });
  return out;
}

// `Factor` is HessianFactor or FactorStack.
template <Backend B, AnyParams Params, class Factor>
[[nodiscard]] GptqResult<Params> gptq_result(const Shape& shape, Params params,
                                             const Factor& factor,
                                             const GptqRows<typename Params::code_type>& rows) {
  GptqResult<Params> out{.tensor = QuantizedTensor<Params>(shape, std::move(params)),
                         .loss = 0,
                         .loss_of_rounding = 0,
                         .damped_loss = 0,
                         .rounded_rows = 0,
                         .tokens = factor.tokens(),
                         .dead_columns = factor.dead_columns(),
                         .damping = factor.damping_used()};
  pack_unchecked<typename Params::type, LowFirst, B>(rows.codes.span(), out.tensor.bytes());
  for (std::size_t r = 0; r < rows.chosen.size(); ++r) {
    out.loss += rows.chosen[r].plain;
    out.loss_of_rounding += rows.rounded[r].plain;
    out.damped_loss += rows.chosen[r].damped;
    out.rounded_rows += rows.is_rounded[r];
  }
  return out;
}

// The result under fixed `params`. `Weights` is ConstTensorView beside a HessianFactor, and
// StackedRows beside a FactorStack.
template <Backend B, class Arch, class Weights, class Factor, AnyParams Params, Executor E>
[[nodiscard]] GptqResult<Params> gptq_under(const Weights& weights, const Factor& factor,
                                            Params params, const E& executor) {
  require_fit("tq::gptq", params, weights.shape());
  using Grid = LaneGrid<B, Params>;
  using Strip = GptqStrip<Grid, Arch>;
  const auto rows = gptq_rows<Strip>(weights, factor, ColumnGroups<Params>(params, weights.shape()),
                                     Grid(Strip::lanes), executor);
  return gptq_result<B>(weights.shape(), std::move(params), factor, rows);
}

}  // namespace detail

/// Quantizes `weights` [outputs, inputs] under fixed `params` of any type and granularity. Columns
/// are rounded in the order of `factor`, the factor of the Hessian of their inputs, and each error
/// moves the columns behind it to where they make up for most of it. A row that is worse than
/// rounded to nearest keeps its rounded codes. Codes do not depend on the executor or the
/// instruction set. Source: Frantar et al., "GPTQ", 2022. Throws: `errc::shape_mismatch` for
/// weights of other inputs and parameters that do not fit; `errc::not_finite` for NaN or infinite
/// weights.
template <Backend B = default_backend, class Arch = arch::native, AnyParams Params,
          Executor E = Serial, Readable X = ConstTensorView>
[[nodiscard]] GptqResult<Params> gptq(const X& weights, const HessianFactor& factor, Params params,
                                      const E& executor = serial) {
  const auto floats = detail::read_floats("tq::gptq", weights);
  detail::require_weights("tq::gptq", floats.view(), factor.inputs());
  return detail::gptq_under<B, Arch>(floats.view(), factor, std::move(params), executor);
}

/// The same of a grouped layer: `weights` [outputs, ...] of filters, where the outputs of a group
/// lie beside each other and the axes behind the first are the inputs of the group. Codes and
/// losses are those of every group by itself, under the same parameters. Of the result, losses and
/// dead columns are sums, `tokens` are the fewest of a group, and `damping` is their mean. Throws:
/// as above; `errc::shape_mismatch` for outputs that are no multiple of the groups.
template <Backend B = default_backend, class Arch = arch::native, AnyParams Params,
          Executor E = Serial, Readable X = ConstTensorView>
[[nodiscard]] GptqResult<Params> gptq(const X& weights, const FactorStack& factors, Params params,
                                      const E& executor = serial) {
  const auto floats = detail::read_floats("tq::gptq", weights);
  const detail::StackedRows rows("tq::gptq", floats.view(), factors.groups(), factors.inputs());
  return detail::gptq_under<B, Arch>(rows, factors, std::move(params), executor);
}

/// Quantizes a matrix with parameters made on the way: see `DynamicGroups`. Groups are runs of
/// inputs of one output, and those of a group lie beside each other in the order of `factor`:
/// `NaturalOrder`, or `ByGroup` of their size. Throws: as above; `errc::bad_argument` for other
/// granularities and orders.
template <AnyParams Params, Backend B = default_backend, class Arch = arch::native,
          Executor E = Serial, Readable X = ConstTensorView>
[[nodiscard]] GptqResult<Params> gptq(
    const X& weights, const HessianFactor& factor, DynamicGroups, const E& executor = serial,
    const typename Params::granularity_type& granularity = typename Params::granularity_type{}) {
  const auto floats = detail::read_floats("tq::gptq", weights);
  const auto& view = floats.view();
  detail::require_weights("tq::gptq", view, factor.inputs());
  using Grid = detail::LaneGrid<B, Params>;
  using Strip = detail::GptqStrip<Grid, Arch>;
  const detail::GroupRuns runs("tq::gptq", granularity, view.shape(), factor.order());
  const std::size_t outputs = view.shape()[0];
  std::vector<Range> ranges(outputs * runs.groups());
  detail::GptqRows<typename Params::code_type> out(outputs, view.shape()[1]);
  detail::for_each_strip<Strip>(
      outputs, factor, Grid(Strip::lanes), executor,
      [&](Strip& strip, std::size_t first, std::size_t count) {
        detail::GroupFitter<Strip, Params> fitter(runs, factor);
        strip.run(view, first, count, [&](Strip& s, std::size_t place) { fitter.begin(s, place); });
        for (std::size_t r = 0; r < count; ++r) {
          out.take(strip, first, r);
          fitter.ranges(out.is_rounded[first + r] ? Strip::rows + r : r,
                        ranges.data() + (first + r) * runs.groups());
        }
      });
  return detail::gptq_result<B>(view.shape(), fit_params<Params>(granularity, ranges), factor, out);
}

}  // namespace tq

// SPDX-License-Identifier: MIT
#pragma once
// hqq: half-quadratic quantization, which needs no activations.

#include <tq/core/executor.hpp>
#include <tq/core/make_params.hpp>
#include <tq/core/params_view.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/core/quantized_tensor.hpp>
#include <tq/core/readable.hpp>
#include <tq/error.hpp>
#include <tq/ops/backend/backend.hpp>
#include <tq/ops/detail/read_floats.hpp>
#include <tq/ops/quantize.hpp>
#include <tq/ptq/detail/hqq_offset.hpp>
#include <tq/ptq/detail/require_weights.hpp>
#include <tq/ptq/weighted_search.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace tq {

/// Quantizes `weights` [outputs, inputs] with the scales of their ranges and the offsets that
/// half-quadratic splitting finds for the norm of `options`: large errors of few weights count
/// less than in squares. A group keeps the best of all offsets by its mean absolute error, so that
/// none is worse than by its range. The importances of inputs, where `options` have them, weigh
/// errors. The result does not depend on `executor`. Source: Badri and Shaji, "Half-Quadratic
/// Quantization", 2023, which keeps the offset of the last iteration. Throws:
/// `errc::shape_mismatch` for weights of another rank and other importances; `errc::bad_argument`
/// for options out of their domain; `errc::not_finite` for NaN or infinite weights;
/// `errc::bad_axis`, `errc::bad_group_size` when the granularity does not fit.
template <OffsetParams Params, Backend B = default_backend, Executor E = Serial,
          Readable X = ConstTensorView>
[[nodiscard]] QuantizedTensor<Params> hqq(
    const X& weights, const HqqOptions& options = {},
    const typename Params::granularity_type& granularity = typename Params::granularity_type{},
    const E& executor = serial) {
  using T = typename Params::type;
  using Stored = typename Params::scale_type;
  static_assert(PlainScaleType<Stored>,
                "tq::hqq: offsets move one by one, and those of super-blocks share a float16");
  using Moved = detail::MovedOffset<Stored, OffsetAffine>;
  constexpr const char* function = "tq::hqq";
  const auto floats = detail::read_floats(function, weights);
  const auto& view = floats.view();
  detail::require_hqq_options(options);
  if (view.shape().rank() != 2)
    detail::raise_expected(errc::shape_mismatch, function, {"weights of shape [outputs, inputs]"},
                           {view.shape().extents()});
  const WeightedSearch importances(options.importances.empty()
                                       ? std::vector<double>(view.shape()[1], 1.0)
                                       : options.importances);
  if (importances.importances().size() != view.shape()[1])
    detail::raise_expected(errc::shape_mismatch, function,
                           {"importances of ", view.shape()[1], " inputs"},
                           {importances.importances().size()});
  detail::require_weights(function, view, view.shape()[1]);
  detail::require_possible(function, granularity, view.shape());
  std::vector<Range> ranges(param_count(granularity, view.shape()));
  std::vector<typename Offsets<Stored>::stored_type> offsets(ranges.size());
  if (view.size() != 0)
    detail::search_blocks(detail::StackedRows(view), importances.importances(), granularity,
                          detail::BlockSearch<detail::BlockRounding<B, Params>>(), executor,
                          [&](auto& block, std::size_t i) {
                            ranges[i] = block.seen();
                            const Moved start(Params::codes, fit_affine<Params>(block.seen()));
                            offsets[i] = detail::hqq_offset(block, start, options).stored();
                          });
  auto scales =
      Scales<Stored>::template fit<T, typename Params::symmetry_type, numerics_of<Params>>(ranges);
  const auto params =
      make_params<Params>(granularity, std::move(scales), Offsets<Stored>(std::move(offsets)));
  return quantize(view, params, executor, on<B>);
}

}  // namespace tq

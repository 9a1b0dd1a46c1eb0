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
#include <tq/ptq/detail/require_same_layer.hpp>
#include <tq/ptq/factor.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tq {

/// Options of `coordinate_descent`.
struct DescentOptions {
  std::size_t sweeps = 2;  ///< at most: a row without a change is done
};

/// Losses are those of `GptqResult`.
struct DescentResult {
  std::vector<std::size_t> changed;  ///< codes that each sweep changed
  double damped_loss_before, damped_loss;
  double loss;
};

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
  using Strip = detail::DescentStrip<B, Arch, Params>;
  const detail::DampedHessian damped(h, factor.damping_used(), executor);
  const detail::ColumnGroups<Params> groups(tensor.params(), view.shape());
  const std::size_t outputs = view.shape()[0], strips = (outputs + Strip::rows - 1) / Strip::rows;
  Buffer<typename Params::code_type> codes(tensor.size());
  unpack<typename Params::type>(std::span<const std::byte>(tensor.bytes()), codes.span());
  const std::vector<float> values = dequantize(tensor, on<B>);
  std::vector<detail::DescentLosses> rows(outputs);
  std::vector<std::size_t> changed(strips * options.sweeps);
  executor(strips, [&](std::size_t s) {
    const std::size_t first = s * Strip::rows, count = std::min(Strip::rows, outputs - first);
    Strip strip(damped, view, values.data(), first, count);
    for (std::size_t r = 0; r < count; ++r) rows[first + r].damped_before = strip.loss(r).damped;
    for (std::size_t sweep = 0; sweep < options.sweeps; ++sweep) {
      changed[sweep * strips + s] = strip.sweep(factor.order(), groups, codes.data());
      if (changed[sweep * strips + s] == 0) break;
    }
    for (std::size_t r = 0; r < count; ++r) rows[first + r].after = strip.loss(r);
  });
  pack_unchecked<typename Params::type, LowFirst, B>(codes.span(), tensor.bytes());
  DescentResult out{{}, 0, 0, 0};
  for (std::size_t sweep = 0; sweep < options.sweeps; ++sweep) {
    out.changed.push_back(0);
    for (std::size_t s = 0; s < strips; ++s) out.changed.back() += changed[sweep * strips + s];
  }
  for (const detail::DescentLosses& row : rows) {
    out.damped_loss_before += row.damped_before;
    out.damped_loss += row.after.damped;
    out.loss += row.after.plain;
  }
  return out;
}

}  // namespace tq

// SPDX-License-Identifier: MIT
#pragma once
// refit_scales: the scales that leave the least loss while codes stay.

#include <tq/arch/isa.hpp>
#include <tq/core/buffer.hpp>
#include <tq/core/executor.hpp>
#include <tq/core/quantized_tensor.hpp>
#include <tq/core/readable.hpp>
#include <tq/ops/backend/backend.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/detail/read_floats.hpp>
#include <tq/ptq/detail/damped_hessian.hpp>
#include <tq/ptq/detail/refit_strip.hpp>
#include <tq/ptq/detail/require_same_layer.hpp>
#include <tq/ptq/detail/require_weights.hpp>
#include <tq/ptq/detail/row_losses.hpp>
#include <tq/ptq/detail/set_scales.hpp>
#include <tq/ptq/detail/unit_values.hpp>
#include <tq/ptq/factor.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace tq {

/// Losses are those of `GptqResult`.
struct RefitResult {
  double damped_loss_before, damped_loss;
  double loss;
  std::size_t refitted_rows;  ///< rows with new scales; the others would have been worse
};

/// Changes the scales of `tensor`, which quantizes `weights` [outputs, inputs], to those of the
/// least damped loss while codes and zero points stay: the solution of linear equations for each
/// row, rounded to be stored. A row whose damped loss would rise keeps its scales. `factor` was
/// made of `h`. The result does not depend on the executor or the instruction set. Throws:
/// `errc::shape_mismatch` for other shapes; `errc::bad_argument` for scales that several outputs
/// share; `errc::not_finite` for NaN or infinite weights. Nothing is changed then.
template <Backend B = default_backend, class Arch = arch::native, AnyParams Params, HessianMatrix H,
          Executor E = Serial, Readable X = ConstTensorView>
RefitResult refit_scales(const X& weights, const H& h, const HessianFactor& factor,
                         QuantizedTensor<Params>& tensor, const E& executor = serial) {
  static_assert(detail::has_own_scales<Params> && !Params::has_offset,
                "tq::refit_scales: scales are float32 or small floats of their own, without "
                "offsets beside them");
  constexpr const char* function = "tq::refit_scales";
  const auto floats = detail::read_floats(function, weights);
  detail::require_same_layer(function, floats.view(), h, factor, tensor.shape());
  const Shape shape = tensor.shape(), block = tensor.params().granularity().block(shape);
  if (block[0] != 1)
    detail::raise_expected(errc::bad_argument, function, {"scales of one output each"},
                           {Params::granularity_type::name});
  const std::size_t outputs = shape[0], n = shape[1], groups = (n + block[1] - 1) / block[1];
  const std::vector<float> w = detail::row_major(floats.view());
  const detail::DampedHessian damped(h, factor.damping_used(), executor);
  const std::vector<double> units = detail::unit_values(tensor);
  const auto seen = tensor.params().scales();
  std::vector<float> scales(seen.begin(), seen.end());
  using Strip = detail::RefitStrip<Arch>;
  executor((outputs + Strip::rows - 1) / Strip::rows, [&](std::size_t s) {
    const std::size_t first = s * Strip::rows, count = std::min(Strip::rows, outputs - first);
    std::vector<float> rows(Strip::rows * n), found(Strip::rows * groups, 1.0f);
    std::vector<double> unit_rows(Strip::rows * n);
    std::copy_n(w.data() + first * n, count * n, rows.data());
    std::copy_n(units.data() + first * n, count * n, unit_rows.data());
    std::copy_n(scales.data() + first * groups, count * groups, found.data());
    Strip(damped, block[1]).run(rows.data(), unit_rows.data(), found);
    std::copy_n(found.data(), count * groups, scales.data() + first * groups);
  });
  const auto losses = [&](const QuantizedTensor<Params>& t) {
    const std::vector<float> values = dequantize(t, on<B>);
    const auto error = [&](std::size_t i) {
      return static_cast<double>(w[i]) - static_cast<double>(values[i]);
    };
    return detail::row_losses<Arch>(damped, outputs, error, executor);
  };
  auto with = [&](std::vector<float> other) {
    Buffer<std::byte> bytes(tensor.bytes().size());
    std::ranges::copy(tensor.bytes(), bytes.data());
    return QuantizedTensor<Params>(shape, detail::with_scales(tensor.params(), std::move(other)),
                                   std::move(bytes));
  };
  const std::vector<detail::RowLoss> before = losses(tensor), after = losses(with(scales));
  RefitResult out{};
  for (std::size_t r = 0; r < outputs; ++r) {
    const bool better = after[r].damped < before[r].damped;
    if (!better)
      for (std::size_t g = 0; g < groups; ++g) scales[r * groups + g] = seen[r * groups + g];
    out.damped_loss_before += before[r].damped;
    out.damped_loss += better ? after[r].damped : before[r].damped;
    out.loss += better ? after[r].plain : before[r].plain;
    out.refitted_rows += better;
  }
  tensor = with(std::move(scales));
  return out;
}

}  // namespace tq

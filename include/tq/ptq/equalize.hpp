// SPDX-License-Identifier: MIT
#pragma once
// equalize: two layers whose channels have the same ranges in both.

#include <tq/core/readable.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/ops/detail/read_floats.hpp>
#include <tq/ptq/detail/layer_list.hpp>
#include <tq/ptq/migrate.hpp>

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace tq {

/// Scales s = r1 / sqrt(r1 r2) of the channels between two layers: r1 is the largest magnitude of a
/// row of `first` [channels, inputs], r2 that of a column of `second` [outputs, channels]. Channels
/// where either is 0 have scale 1. Source: Nagel et al., "Data-Free Quantization Through Weight
/// Equalization and Bias Correction", 2019. Throws: `errc::shape_mismatch` for layers of other
/// shapes; `errc::not_finite` for NaN or infinite weights.
template <Readable First = ConstTensorView, Readable Second = ConstTensorView>
[[nodiscard]] std::vector<float> equalization_scales(const First& first, const Second& second) {
  constexpr const char* function = "tq::equalization_scales";
  const auto firsts = detail::read_floats(function, first),
             seconds = detail::read_floats(function, second);
  const ConstTensorView &w1 = firsts.view(), &w2 = seconds.view();
  if (w1.shape().rank() != 2)
    detail::raise_expected(errc::shape_mismatch, function, {"weights of shape [channels, inputs]"},
                           {w1.shape().extents()});
  const std::size_t channels = w1.shape()[0];
  detail::require_weights(function, w1, w1.shape()[1]);
  detail::require_weights(function, w2, channels);
  const std::vector<float> columns = detail::column_magnitudes({w2}, channels);
  std::vector<float> out(channels, 1.0f);
  for (std::size_t c = 0; c < channels; ++c) {
    float row = 0;
    for (std::size_t i = 0; i < w1.shape()[1]; ++i)
      row = std::max(row, std::fabs(w1.data()[static_cast<std::ptrdiff_t>(c) * w1.stride(0) +
                                              static_cast<std::ptrdiff_t>(i) * w1.stride(1)]));
    if (row != 0 && columns[c] != 0)
      out[c] = detail::scale_or_one(
          std::sqrt(static_cast<double>(row) / static_cast<double>(columns[c])));
  }
  return out;
}

/// Gives every channel between two layers the same range in both: rows of `first` [channels,
/// inputs] and the bias behind it, which may be empty, are divided by `equalization_scales`, and
/// columns of `second` [outputs, channels] multiplied. Between the layers stands a function f with
/// f(a x) = a f(x) for a > 0, such as ReLU, and nothing else reads it. Returns the scales. Throws:
/// as `equalization_scales` and `migrate`. Nothing is changed then.
inline std::vector<float> equalize(const TensorView<float>& first, std::span<float> bias,
                                   const TensorView<float>& second) {
  std::vector<float> scales = equalization_scales(first, second);
  migrate(scales, into_rows({"second"}, first, bias), {{"second", second}});
  return scales;
}

}  // namespace tq

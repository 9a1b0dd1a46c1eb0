// SPDX-License-Identifier: MIT
#pragma once
// smooth_scales and log_scales: scales of inputs that move outliers of activations into weights.

#include <tq/core/granularity.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/observe/abs_max.hpp>
#include <tq/observe/observer.hpp>
#include <tq/ptq/detail/layer_list.hpp>

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace tq {

/// Scales s = max|x|^a / max|w|^(1 - a), a being `strength`, for inputs of these largest
/// `magnitudes` and all `layers` [outputs, inputs] that read them: inputs are to be divided and
/// weights multiplied by them (`migrate`). Inputs that are always 0, and those whose weights all
/// are, have scale 1. Source: Xiao et al., "SmoothQuant", 2022. Throws: `errc::no_data` for no
/// layers; `errc::shape_mismatch` for layers of other inputs; `errc::bad_argument` for a strength
/// outside 0 to 1; `errc::not_finite` for NaN and infinite weights or magnitudes.
[[nodiscard]] inline std::vector<float> smooth_scales(std::span<const float> magnitudes,
                                                      const std::vector<ConstTensorView>& layers,
                                                      double strength = 0.5) {
  constexpr const char* function = "tq::smooth_scales";
  if (!(strength >= 0 && strength <= 1))
    detail::raise_expected(errc::bad_argument, function, {"a strength of 0 to 1"},
                           {static_cast<float>(strength)});
  detail::require_layers(function, layers, magnitudes.size());
  detail::require_magnitudes(function, magnitudes);
  const std::vector<float> weights = detail::column_magnitudes(layers, magnitudes.size());
  std::vector<float> out(magnitudes.size(), 1.0f);
  for (std::size_t i = 0; i < out.size(); ++i)
    if (magnitudes[i] != 0 && weights[i] != 0)
      out[i] = detail::scale_or_one(std::pow(static_cast<double>(magnitudes[i]), strength) /
                                    std::pow(static_cast<double>(weights[i]), 1 - strength));
  return out;
}

/// Scales s = max|x| / log2(2 + max|x|), which know no weights: log equalisation. Inputs that are
/// always 0 have scale 1. Throws: `errc::not_finite` for NaN and infinite magnitudes.
[[nodiscard]] inline std::vector<float> log_scales(std::span<const float> magnitudes) {
  detail::require_magnitudes("tq::log_scales", magnitudes);
  std::vector<float> out;
  for (const float m : magnitudes) {
    const auto most = static_cast<double>(m);
    out.push_back(m == 0 ? 1.0f : detail::scale_or_one(most / std::log2(2 + most)));
  }
  return out;
}

/// The largest magnitudes that an observer of inputs [..., inputs] saw.
template <int Axis, class NonFinite>
[[nodiscard]] std::vector<float> magnitudes_of(
    const Observer<AbsMax, PerChannel<Axis>, NonFinite>& inputs) {
  std::vector<float> out;
  for (const AbsMax& seen : inputs.accumulators()) out.push_back(seen.abs_max());
  return out;
}

}  // namespace tq

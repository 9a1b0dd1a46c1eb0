// SPDX-License-Identifier: MIT
#pragma once
// DoReFa: weights are squeezed into [-1, 1] before they are quantized, activations clipped to [0,
// 1].

#include <tq/train/gradient.hpp>
#include <tq/train/straight_through.hpp>

#include <cmath>
#include <string_view>

namespace tq {

/// The scale is fixed: the last code is 1. Signed codes quantize t = tanh(x) / max|tanh(x)|, the
/// maximum over the slot and taken for a constant: dy/dx = (1 - tanh(x)^2) / max|tanh(x)|. Unsigned
/// ones quantize x itself. dy/dt is 1 where t has a code and 0 where not. The paper's grid for
/// k-bit weights has no zero: it is a code book of the 2^k values (2 i - n) / n, n = 2^k - 1. For
/// its binary weights see `binary` and MeanAbsCalibrator. Source: Zhou et al. 2016,
/// arXiv:1606.06160, equations 5 and 9 to 12.
struct DoReFa : ClippedStraightThrough {
  static constexpr std::string_view name = "dorefa";
  static constexpr int learned = 0;
  template <AnyParams Params>
  static constexpr bool allows =
      !Params::has_zero_point && std::same_as<typename Params::scale_type, float>;

  static float fixed_scale(kernels::Bounds b) noexcept { return 1.0f / b.high; }
  /// Whether t differs from x.
  static bool transforms(kernels::Bounds b) noexcept { return b.low < 0; }
  /// The divisor of a slot with largest magnitude `most`.
  static float divisor(float most) noexcept { return std::tanh(most); }
  /// t of x; 0 in slots of zeros.
  static float transformed(float x, float divisor) noexcept {
    return divisor > 0 ? std::tanh(x) / divisor : 0.0f * x;
  }
  /// dt/dx; 0 for NaN.
  static float slope(float x, float divisor) noexcept {
    if (!(divisor > 0) || !(x == x)) return 0.0f;
    const float t = std::tanh(x);
    return (1.0f - t * t) / divisor;
  }
};

/// A gradient policy that quantizes a function of its input with a scale of its own. Model: DoReFa.
template <class G>
concept TransformingGradient = GradientPolicy<G> && requires(float v, kernels::Bounds b) {
  { G::fixed_scale(b) } -> std::same_as<float>;
  { G::transforms(b) } -> std::same_as<bool>;
  { G::divisor(v) } -> std::same_as<float>;
  { G::transformed(v, v) } -> std::same_as<float>;
  { G::slope(v, v) } -> std::same_as<float>;
};

}  // namespace tq

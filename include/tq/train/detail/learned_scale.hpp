// SPDX-License-Identifier: MIT
#pragma once
// How a learned scale stays positive: as it is, with guarded steps, or as its logarithm.

#include <tq/config.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <numbers>

namespace tq {

/// How a scale is a learned parameter: `parameter` and `scale` are each other's inverse, `slope` is
/// d scale / d parameter, and `keep` is what a step of an optimiser becomes. Model: GuardedScale.
template <class S>
concept ScaleParameter = requires(float v) {
  { S::parameter(v) } -> std::same_as<float>;
  { S::scale(v) } -> std::same_as<float>;
  { S::slope(v) } -> std::same_as<float>;
  { S::keep(v, v) } -> std::same_as<float>;
};

/// The scale itself. A step never takes it below half of what it was, so that no step makes it
/// negative or loses its order of magnitude; it stays a normal float with a finite reciprocal.
struct GuardedScale {
  static constexpr float least = 0x1p-126f, most = 0x1p126f;
  static float parameter(float scale) noexcept { return scale; }
  static float scale(float parameter) noexcept { return parameter; }
  static float slope(float) noexcept { return 1.0f; }
  static float keep(float before, float after) noexcept {
    return std::min(std::max({after, before / 2, least}), most);
  }
};

/// The binary logarithm of the scale: positive by construction, and steps are relative to its size.
struct LogScale {
  static constexpr float least = -126, most = 126;
  static float parameter(float scale) noexcept { return std::log2(scale); }
  static float scale(float parameter) noexcept {
    return std::exp2(std::clamp(parameter, least, most));
  }
  static float slope(float scale) noexcept { return scale * std::numbers::ln2_v<float>; }
  static float keep(float, float after) noexcept { return std::clamp(after, least, most); }
};

}  // namespace tq

// SPDX-License-Identifier: MIT
#pragma once
// powers_of_two: scales by which float32 numbers are multiplied and divided without rounding.

#include <tq/ptq/detail/require_input_scales.hpp>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace tq {

namespace detail {
[[nodiscard]] inline float nearest_power_of_two(float scale) noexcept {
  int exponent = 0;
  const float part = std::frexp(scale, &exponent);  // 0.5 <= part < 1
  constexpr float middle = 0.70710678f;             // the root of 1/2
  return std::ldexp(1.0f, std::clamp(part < middle ? exponent - 1 : exponent, -126, 127));
}
}  // namespace detail

/// The power of two nearest to each scale, by ratio. Throws: `errc::bad_scale` unless scales are
/// positive and finite.
[[nodiscard]] inline std::vector<float> powers_of_two(std::span<const float> scales) {
  detail::require_input_scales("tq::powers_of_two", scales, scales.size());
  std::vector<float> out(scales.size());
  std::ranges::transform(scales, out.begin(), detail::nearest_power_of_two);
  return out;
}

}  // namespace tq

// SPDX-License-Identifier: MIT
#pragma once
// Whether the numbers of this program are those of IEEE 754, asked when it runs.

#include <tq/config.hpp>

#include <cmath>
#include <limits>

namespace tq {

namespace detail {
// Results that are subnormal, and arguments: flags of the processor (FTZ, DAZ) make zeros of
// either.
[[nodiscard]] TQ_NO_INLINE inline bool keeps_subnormals() noexcept {
  const volatile float least = std::numeric_limits<float>::min(),
                       lesser = std::numeric_limits<float>::denorm_min();
  const float half = least * 0.5f, normal = lesser * 0x1p24f;
  return half != 0.0f && normal != 0.0f;
}

[[nodiscard]] TQ_NO_INLINE inline bool rounds_to_nearest() noexcept {
  const volatile float one = 1.0f, above = 0x1.8p-24f, below = 0x1p-25f;
  const float up = one + above, down = -one - above, same = one + below;
  return up == 1.0f + 0x1p-23f && down == -1.0f - 0x1p-23f && same == 1.0f;
}

// False where an optimizer was told to take numbers for real ones.
[[nodiscard]] TQ_NO_INLINE inline bool keeps_operations() noexcept {
  const volatile float large = 0x1p25f, one = 1.0f, five = 5.0f, negative_zero = -0.0f;
  const float a = large, b = one, x = five, z = negative_zero;
  return (a + b) - a == 0.0f && x / 3.0f == 0x1.aaaaaap0f && !std::signbit(z + 0.0f);
}

[[nodiscard]] TQ_NO_INLINE inline bool keeps_non_finite() noexcept {
  const volatile float nan = std::numeric_limits<float>::quiet_NaN(),
                       inf = std::numeric_limits<float>::infinity();
  const float x = nan, y = inf;
  return x != x && y == std::numeric_limits<float>::infinity();
}
}  // namespace detail

/// True where arithmetic is what the numeric contract needs: nothing flushes subnormal numbers on
/// this thread (FTZ, DAZ; a library that was linked with -ffast-math may switch them on for the
/// whole program), rounding is to nearest even, and the compiler kept every operation and NaN in
/// their places. The last is known at compile time with g++, whose flags are refused there; clang
/// says nothing of -funsafe-math-optimizations, -fassociative-math, -freciprocal-math,
/// -fno-signed-zeros and -fno-honor-nans, and this finds them in optimized builds. No
/// other function of tq asks it.
[[nodiscard]] inline bool ieee_arithmetic() noexcept {
  return detail::keeps_subnormals() && detail::rounds_to_nearest() && detail::keeps_operations() &&
         detail::keeps_non_finite();
}

}  // namespace tq

// SPDX-License-Identifier: MIT
#pragma once
// Fixed-point fractions: the INT8 elements of the Microscaling formats.

#include <tq/numeric/overflow.hpp>
#include <tq/numeric/rounding.hpp>

#include <cstdint>

namespace tq {

/// Two's complement of `Bits` bits, `Fraction` of them after the point: code c means c *
/// 2^-Fraction. The lowest code is never made, as microxcaling does, so that the range is
/// symmetric. Source: OCP Microscaling v1.0, INT8 elements.
template <int Bits, int Fraction>
struct FixedFormat {
  static constexpr int bits = Bits, mantissa_bits = Fraction, emax = Bits - 2 - Fraction;
  static constexpr bool has_nan = false;
  static constexpr std::int32_t max_code = (1 << (Bits - 1)) - 1;
  static constexpr float unit = 1.0f / static_cast<float>(1 << Fraction);
  static constexpr float max_finite = static_cast<float>(max_code) * unit;
  static constexpr float smallest_normal = unit, smallest_subnormal = unit;

  /// NaN becomes 0; values beyond the ends saturate under every policy.
  template <OverflowPolicy O = Saturate, Rounding R = NearestEven>
  [[nodiscard]] static constexpr std::uint32_t encode(float x, const R& rounding = {},
                                                      std::uint64_t index = 0) noexcept {
    constexpr auto top = static_cast<float>(max_code);
    float v = x == x ? x * static_cast<float>(1 << Fraction) : 0.0f;
    v = v < -top ? -top : v > top ? top : v;
    return static_cast<std::uint32_t>(static_cast<std::int32_t>(rounding(v, index))) & mask;
  }
  [[nodiscard]] static constexpr float decode(std::uint32_t code) noexcept {
    constexpr std::uint32_t sign = 1u << (Bits - 1);
    return static_cast<float>(static_cast<std::int32_t>((code & mask) ^ sign) -
                              static_cast<std::int32_t>(sign)) *
           unit;
  }

 private:
  static constexpr std::uint32_t mask = (1u << Bits) - 1u;
};

}  // namespace tq

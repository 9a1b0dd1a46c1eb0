// SPDX-License-Identifier: MIT
#pragma once
// Small binary floats: sign, exponent and mantissa of any width, encoded and decoded exactly.

#include <tq/numeric/overflow.hpp>
#include <tq/numeric/rounding.hpp>

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>

namespace tq {

/// Which codes of a float format are not plain numbers.
enum class FloatSpecials : std::uint8_t {
  ieee,               ///< the highest exponent holds infinity (mantissa 0) and NaN
  nan_only,           ///< all ones is NaN; no infinity ("fn")
  negative_zero_nan,  ///< the code of -0 is NaN; no infinity, no -0 ("fnuz")
  finite,             ///< every code is a number
};

namespace detail {

// The float that rounds to every coarser grid as `x` does: the last bit is set where bits were lost
// (round to odd). Source: Boldo and Melquiond, "When double rounding is odd", 2005.
constexpr float to_odd(double x) noexcept {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const auto sign = static_cast<std::uint32_t>(bits >> 32) & 0x80000000u;
  const std::uint64_t magnitude = bits & 0x7fffffffffffffffu;
  const int exponent = static_cast<int>(magnitude >> 52) - 1023;
  std::uint32_t out = 0;
  if (magnitude > 0x7ff0000000000000u) out = 0x7fc00000u;
  else if (exponent > 127) out = 0x7f800000u;  // beyond every format whichever way it is rounded
  else {
    // 24 bits of significand above float32's smallest exponent, fewer below.
    const std::uint64_t significand = (magnitude & 0xfffffffffffffu) | 0x10000000000000u;
    const int drop = exponent >= -126 ? 29 : 29 + (-126 - exponent);
    if (drop < 64) {
      const std::uint64_t kept = significand >> drop;
      const bool inexact = (kept << drop) != significand;
      out = static_cast<std::uint32_t>(kept) | (inexact ? 1u : 0u);
      if (exponent >= -126)
        out = (out & 0x7fffffu) | (static_cast<std::uint32_t>(exponent + 127) << 23);
    } else {
      out = magnitude != 0 ? 1u : 0u;
    }
  }
  return std::bit_cast<float>(sign | out);
}

}  // namespace detail

/// A sign bit, `Exponent` bits biased by `Bias`, `Mantissa` bits; subnormals as in IEEE 754. Codes
/// are the bits, right-aligned. Source: IEEE 754-2019; OCP OFP8 v1.0; OCP Microscaling v1.0;
/// ml_dtypes.
template <int Exponent, int Mantissa, int Bias, FloatSpecials Specials>
struct FloatFormat {
  static constexpr int exponent_bits = Exponent, mantissa_bits = Mantissa, bias = Bias;
  static constexpr int bits = 1 + Exponent + Mantissa;
  static constexpr FloatSpecials specials = Specials;
  /// The exponent of the smallest normal value; subnormals share it.
  static constexpr int min_exponent = 1 - Bias;

  static constexpr std::uint32_t sign_bit = 1u << (bits - 1);
  static constexpr std::uint32_t max_code = Specials == FloatSpecials::ieee
                                                ? (((1u << Exponent) - 1u) << Mantissa) - 1u
                                            : Specials == FloatSpecials::nan_only ? sign_bit - 2u
                                                                                  : sign_bit - 1u;
  /// The exponent of the largest finite value.
  static constexpr int emax = static_cast<int>(max_code >> Mantissa) - Bias;
  static constexpr bool has_infinity = Specials == FloatSpecials::ieee;
  static constexpr bool has_nan = Specials != FloatSpecials::finite;
  static constexpr bool has_negative_zero = Specials != FloatSpecials::negative_zero_nan;
  /// Whether values beyond the largest become it under O.
  template <OverflowPolicy O>
  static constexpr bool saturates =
      std::same_as<O, Saturate> || !has_nan ||
      (std::same_as<O, SaturateFn> && Specials == FloatSpecials::nan_only);

  /// The exact value of a code; bits above the format's are ignored.
  [[nodiscard]] static constexpr float decode(std::uint32_t code) noexcept {
    const std::uint32_t magnitude = code & (sign_bit - 1u);
    const std::uint32_t sign = (code & sign_bit) << (32 - bits);
    if (is_nan(code)) return std::bit_cast<float>(sign | 0x7fc00000u);
    if (has_infinity && magnitude > max_code) return std::bit_cast<float>(sign | 0x7f800000u);
    const auto exponent = static_cast<int>(magnitude >> Mantissa);
    const auto fraction = magnitude & ((1u << Mantissa) - 1u);
    const auto significand =
        static_cast<float>(exponent == 0 ? fraction : fraction | (1u << Mantissa));
    const int power = (exponent == 0 ? min_exponent : exponent - Bias) - Mantissa;
    const float value = significand * power_of_two(power);
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
  }

  [[nodiscard]] static constexpr bool is_nan(std::uint32_t code) noexcept {
    const std::uint32_t magnitude = code & (sign_bit - 1u);
    if constexpr (Specials == FloatSpecials::ieee) return magnitude > max_code + 1u;
    else if constexpr (Specials == FloatSpecials::nan_only) return magnitude > max_code;
    else if constexpr (Specials == FloatSpecials::negative_zero_nan)
      return (code & (2 * sign_bit - 1u)) == sign_bit;
    else return false;
  }

  static constexpr float max_finite = decode(max_code);
  static constexpr float smallest_normal = decode(1u << Mantissa);
  static constexpr float smallest_subnormal = decode(1u);

  /// NaN of the sign of a NaN. Formats without NaN give a zero of the opposite sign, as ml_dtypes
  /// does and as the ONNX test data have it.
  [[nodiscard]] static constexpr std::uint32_t nan_code(bool negative) noexcept {
    if constexpr (Specials == FloatSpecials::negative_zero_nan) return sign_bit;
    else if constexpr (Specials == FloatSpecials::finite) return negative ? 0u : sign_bit;
    else {
      constexpr std::uint32_t quiet =
          Specials == FloatSpecials::ieee ? max_code + 1u + (1u << (Mantissa - 1)) : max_code + 1u;
      return negative ? quiet | sign_bit : quiet;
    }
  }

  /// The code of x: rounded once to the grid of the format (its step below the smallest normal
  /// value is that of the subnormals, its exponents have no upper end), then the overflow rule. The
  /// sign of zero is kept where the format has -0. `index` is the element index that stochastic
  /// rounding draws from.
  template <OverflowPolicy O = Saturate, Rounding R = NearestEven>
  [[nodiscard]] static constexpr std::uint32_t encode(float x, const R& rounding = {},
                                                      std::uint64_t index = 0) noexcept {
    const auto source = std::bit_cast<std::uint32_t>(x);
    const bool negative = (source >> 31) != 0;
    const std::uint32_t magnitude = source & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return nan_code(negative);
    std::uint32_t code = max_code + 1u;
    if (magnitude < 0x7f800000u) {
      const auto field = static_cast<int>(magnitude >> 23);
      const int power = (field == 0 ? 1 : field) - 127;
      const auto significand =
          static_cast<float>((magnitude & 0x7fffffu) | (field == 0 ? 0u : 0x800000u));
      const int exponent = power < min_exponent ? min_exponent : power;
      // x in steps of 2^(exponent - Mantissa); far below the first step only "not zero" matters.
      const int shift = exponent - power < 60 ? exponent - power : 60;
      const float steps = significand * power_of_two(Mantissa - 23 - shift);
      const float rounded = rounding(negative ? -steps : steps, index);
      const auto count = static_cast<std::uint32_t>(rounded < 0 ? -rounded : rounded);
      code = (static_cast<std::uint32_t>(exponent - min_exponent) << Mantissa) + count;
    }
    if (code > max_code) {
      if constexpr (saturates<O>) code = max_code;
      else if constexpr (has_infinity) code = max_code + 1u;
      else return nan_code(negative);
    }
    return negative && (has_negative_zero || code != 0) ? code | sign_bit : code;
  }

  /// As above, from double with a single rounding.
  template <OverflowPolicy O = Saturate, Rounding R = NearestEven>
  [[nodiscard]] static constexpr std::uint32_t encode(double x, const R& rounding = {},
                                                      std::uint64_t index = 0) noexcept {
    return encode<O>(detail::to_odd(x), rounding, index);
  }

 private:
  static constexpr float power_of_two(int n) noexcept {
    return n >= -126 ? std::bit_cast<float>(static_cast<std::uint32_t>(n + 127) << 23)
                     : std::bit_cast<float>(1u << (n + 149));
  }
};

}  // namespace tq

// SPDX-License-Identifier: MIT
#pragma once
// E8M0: a byte that holds a power of two, the scale of the Microscaling formats; and the rules that
// choose it.

#include <tq/numeric/overflow.hpp>
#include <tq/numeric/rounding.hpp>

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string_view>

namespace tq {

/// Code c means 2^(c - 127), 255 means NaN; no sign, no zero. Source: OCP Microscaling v1.0, E8M0.
struct ExponentFormat {
  static constexpr int bits = 8, bias = 127;
  static constexpr std::uint32_t max_code = 254, nan = 255;
  static constexpr bool has_nan = true;

  /// The exact value; the lowest code is a subnormal float32.
  [[nodiscard]] static constexpr float decode(std::uint32_t code) noexcept {
    code &= 255u;
    return std::bit_cast<float>(code == nan ? 0x7fc00000u : code == 0 ? 0x00400000u : code << 23);
  }
  static constexpr float max_finite = 0x1p127f, smallest_normal = 0x1p-127f,
                         smallest_subnormal = 0x1p-127f;

  /// The nearest power of two, a tie (significand 1.5) up, as ml_dtypes casts: what is above 2^-127
  /// and below 2^-126 becomes 2^-126, what is smaller 2^-127, zero and negative values NaN, and
  /// what is too large the highest code or, under `NonSaturate` and `SaturateFn`, NaN. Under the
  /// last the sign is ignored, and zero 2^-127.
  template <OverflowPolicy O = Saturate, Rounding R = NearestEven>
    requires std::same_as<R, NearestEven>
  [[nodiscard]] static constexpr std::uint32_t encode(float x, const R& = {},
                                                      std::uint64_t = 0) noexcept {
    const auto raw =
        std::bit_cast<std::uint32_t>(x) & (std::same_as<O, SaturateFn> ? 0x7fffffffu : 0xffffffffu);
    if (std::same_as<O, SaturateFn> ? x != x : !(x > 0)) return nan;
    const std::uint32_t code =
        (raw + (raw < 0x800000u ? 0x3fffffu : 0x400000u)) >> 23;  // 2^-127 is bits 0x400000
    if (code <= max_code) return code;
    return std::same_as<O, Saturate> ? max_code : nan;
  }
};

namespace detail {
constexpr std::uint32_t magnitude_bits(float x) noexcept {
  return std::bit_cast<std::uint32_t>(x) & 0x7fffffffu;
}
constexpr std::uint32_t exponent_field(float x) noexcept { return magnitude_bits(x) >> 23; }
constexpr std::uint32_t mantissa_field(float x) noexcept { return magnitude_bits(x) & 0x7fffffu; }
// A scale code from the float32 exponent of the largest magnitude; infinity and NaN give NaN.
constexpr std::uint32_t scale_code(std::uint32_t field, int emax) noexcept {
  const int code = static_cast<int>(field) - emax;
  return code < 0 ? 0u : code > 254 ? 254u : static_cast<std::uint32_t>(code);
}
constexpr bool is_finite(float x) noexcept { return magnitude_bits(x) < 0x7f800000u; }
}  // namespace detail

// Rules for the power-of-two scale of a block, from the largest magnitude in it (the sign is
// ignored) and the format F of the elements: `emax` is the exponent of its largest value. They read
// exponent bits, never a float logarithm. A magnitude that is NaN or infinite gets the NaN scale.

/// floor(log2 amax) - emax; what then lies above the largest value saturates. Source: OCP
/// Microscaling v1.0, 6.3.
struct ExponentFloor {
  static constexpr std::string_view name = "floor";
  template <class F>
  [[nodiscard]] static constexpr std::uint32_t code(float amax) noexcept {
    return !detail::is_finite(amax) ? ExponentFormat::nan
                                    : detail::scale_code(detail::exponent_field(amax), F::emax);
  }
};

/// ceil(log2 amax) - emax. Source: torchao, ScaleCalculationMode.CEIL.
struct ExponentCeil {
  static constexpr std::string_view name = "ceil";
  template <class F>
  [[nodiscard]] static constexpr std::uint32_t code(float amax) noexcept {
    const std::uint32_t up = detail::mantissa_field(amax) != 0 ? 1u : 0u;
    return !detail::is_finite(amax)
               ? ExponentFormat::nan
               : detail::scale_code(detail::exponent_field(amax) + up, F::emax);
  }
};

/// The floor rule on amax rounded to the mantissa of the elements. Source: torchao,
/// ScaleCalculationMode.EVEN.
struct ExponentEven {
  static constexpr std::string_view name = "even";
  template <class F>
  [[nodiscard]] static constexpr std::uint32_t code(float amax) noexcept {
    if (!detail::is_finite(amax)) return ExponentFormat::nan;
    const std::uint32_t rounded = detail::magnitude_bits(amax) + (1u << (22 - F::mantissa_bits));
    return detail::scale_code(rounded >> 23, F::emax);
  }
};

/// The smallest power of two not below amax / max, as far as float32 tells; nothing saturates.
/// Source: torchao, ScaleCalculationMode.RCEIL; `cvt.rp.satfinite.ue8m0x2.f32` of NVIDIA Blackwell.
struct ExponentRCeil {
  static constexpr std::string_view name = "rceil";
  template <class F>
  [[nodiscard]] static constexpr std::uint32_t code(float amax) noexcept {
    if (!detail::is_finite(amax)) return ExponentFormat::nan;
    const float d = amax * (1.0f / F::max_finite);
    const std::uint32_t least =
        detail::exponent_field(d) == 0 ? 0x400000u : 0u;  // 2^-127 has a code
    return detail::scale_code(
        detail::exponent_field(d) + (detail::mantissa_field(d) > least ? 1u : 0u), 0);
  }
};

/// log2 amax rounded to nearest (a significand of 1.5 and more goes up, and so does what is between
/// 2^-127 and 2^-126) - emax. Source: ONNX Cast to float8e8m0, round_mode nearest.
struct ExponentNearest {
  static constexpr std::string_view name = "nearest";
  template <class F>
  [[nodiscard]] static constexpr std::uint32_t code(float amax) noexcept {
    const std::uint32_t least =
        detail::exponent_field(amax) == 0 ? 0x400001u : 0x400000u;  // 2^-127 has a code
    const std::uint32_t up = detail::mantissa_field(amax) >= least ? 1u : 0u;
    return !detail::is_finite(amax)
               ? ExponentFormat::nan
               : detail::scale_code(detail::exponent_field(amax) + up, F::emax);
  }
};

namespace detail {
struct exponent_model {
  static constexpr int emax = 2, mantissa_bits = 1;
  static constexpr float max_finite = 6.0f;
};
}  // namespace detail

/// How a block gets its power-of-two scale. Model: `ExponentFloor`.
template <class E>
concept ExponentRule = requires(float amax) {
  { E::name } -> std::convertible_to<std::string_view>;
  { E::template code<detail::exponent_model>(amax) } -> std::same_as<std::uint32_t>;
};

/// Another rule without saturation: what it rounds beyond the highest power of two is NaN. Source:
/// ONNX Cast to float8e8m0, saturate = 0.
template <ExponentRule E>
struct ExponentUnsaturated {
  static constexpr std::string_view name = E::name;
  template <class F>
  [[nodiscard]] static constexpr std::uint32_t code(float amax) noexcept {
    const std::uint32_t code = E::template code<F>(amax);
    if (code != ExponentFormat::max_code) return code;
    // `amax` is beyond the largest code unless its half has the code below.
    return E::template code<F>(amax * 0.5f) == code - 1 ? code : ExponentFormat::nan;
  }
};

}  // namespace tq

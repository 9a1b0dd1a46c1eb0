// SPDX-License-Identifier: MIT
#pragma once
// The small binary floats as element types, spelled as ONNX and ml_dtypes spell them.

#include <tq/core/element.hpp>
#include <tq/numeric/exponent_format.hpp>
#include <tq/numeric/fixed_format.hpp>
#include <tq/numeric/float_format.hpp>

#include <cstdint>
#include <string_view>

namespace tq {

/// Base of elements in a float format, yours too: `struct float5 : tq::FloatElement<Format>` with a
/// `name`.
template <ValueFormat Format>
struct FloatElement : detail::coded_element<Format> {
  /// The smallest positive value; also that of formats whose smallest value is not a subnormal.
  static constexpr float smallest_subnormal = Format::smallest_subnormal;
};

namespace detail {
// A float of 16 bits that is also the type of an element in memory: `TensorView<const float16>` is
// a tensor of them.
template <ValueFormat Format>
struct half_element : FloatElement<Format> {
  std::uint16_t code;

  half_element() = default;
  /// Nearest even; what is too large becomes infinite.
  constexpr explicit half_element(float value) noexcept
      : code(static_cast<std::uint16_t>(
            Format::template encode<NonSaturate>(value, NearestEven{}, 0))) {}
  constexpr explicit operator float() const noexcept { return Format::decode(code); }
};
}  // namespace detail

/// IEEE 754 binary16: up to 65504.
struct float16 : detail::half_element<FloatFormat<5, 10, 15, FloatSpecials::ieee>> {
  using half_element::half_element;
  static constexpr std::string_view name = "float16";
};
/// The upper half of float32.
struct bfloat16 : detail::half_element<FloatFormat<8, 7, 127, FloatSpecials::ieee>> {
  using half_element::half_element;
  static constexpr std::string_view name = "bfloat16";
};

/// OCP OFP8 E4M3: up to 448, NaN, no infinity.
struct float8_e4m3fn : FloatElement<FloatFormat<4, 3, 7, FloatSpecials::nan_only>> {
  static constexpr std::string_view name = "float8_e4m3fn";
};
/// OCP OFP8 E5M2: up to 57344, NaN and infinity as in IEEE 754.
struct float8_e5m2 : FloatElement<FloatFormat<5, 2, 15, FloatSpecials::ieee>> {
  static constexpr std::string_view name = "float8_e5m2";
};
/// E4M3 of AMD and Graphcore: up to 240, one NaN, one zero.
struct float8_e4m3fnuz : FloatElement<FloatFormat<4, 3, 8, FloatSpecials::negative_zero_nan>> {
  static constexpr std::string_view name = "float8_e4m3fnuz";
};
/// E5M2 of AMD and Graphcore: up to 57344, one NaN, one zero.
struct float8_e5m2fnuz : FloatElement<FloatFormat<5, 2, 16, FloatSpecials::negative_zero_nan>> {
  static constexpr std::string_view name = "float8_e5m2fnuz";
};
/// A power of two from 2^-127 to 2^127, or NaN: the scale of the Microscaling formats.
struct float8_e8m0fnu : FloatElement<ExponentFormat> {
  static constexpr std::string_view name = "float8_e8m0fnu";
};

/// OCP Microscaling FP6 E2M3: up to 7.5, finite.
struct float6_e2m3fn : FloatElement<FloatFormat<2, 3, 1, FloatSpecials::finite>> {
  static constexpr std::string_view name = "float6_e2m3fn";
};
/// OCP Microscaling FP6 E3M2: up to 28, finite.
struct float6_e3m2fn : FloatElement<FloatFormat<3, 2, 3, FloatSpecials::finite>> {
  static constexpr std::string_view name = "float6_e3m2fn";
};
/// OCP Microscaling FP4 E2M1: 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives.
struct float4_e2m1fn : FloatElement<FloatFormat<2, 1, 1, FloatSpecials::finite>> {
  static constexpr std::string_view name = "float4_e2m1fn";
};

/// OCP Microscaling INT8: two's complement with 6 bits after the point, from -127/64 to 127/64.
struct fixed8 : FloatElement<FixedFormat<8, 6>> {
  static constexpr std::string_view name = "fixed8";
};

}  // namespace tq

// SPDX-License-Identifier: MIT
#pragma once
// The numeric contract in scalar form. Every kernel on every ISA equals these functions bit for
// bit.

#include <tq/numeric/numerics.hpp>
#include <tq/numeric/rounding.hpp>
#include <tq/numeric/value_format.hpp>

#include <cstdint>

namespace tq::reference {

/// The parameters and the codes of one element.
struct Slot {
  float scale;
  std::int32_t zero_point, qmin, qmax;
};

/// clamp(round(x / s), qmin - z, qmax - z), as an integral float; NaN by policy.
template <NumericsPolicy N>
[[nodiscard]] TQ_FORCE_INLINE float grid_value(float x, const Slot& s, const N& n,
                                               std::uint64_t index) noexcept {
  const auto lo = static_cast<float>(s.qmin - s.zero_point),
             hi = static_cast<float>(s.qmax - s.zero_point);
  float v = N::scaling_type::apply(x, s.scale);
  if (!(v == v)) v = std::same_as<typename N::nan_type, NanToMin> ? lo : 0.0f;
  v = v < lo ? lo : v;  // rounding keeps integers, so clamping first gives the same code, and stays
                        // in range
  v = v > hi ? hi : v;
  return n.rounding(v, index);
}

/// The code of x: grid value plus zero point.
template <NumericsPolicy N>
[[nodiscard]] TQ_FORCE_INLINE std::int32_t quantize(float x, const Slot& s, const N& n,
                                                    std::uint64_t index) noexcept {
  return static_cast<std::int32_t>(grid_value(x, s, n, index)) + s.zero_point;
}

/// float(q - z) * s.
[[nodiscard]] TQ_FORCE_INLINE float dequantize(std::int32_t code, float scale,
                                               std::int32_t zero_point) noexcept {
  return static_cast<float>(code - zero_point) * scale;
}

/// `quantize` where float32 does not hold every code: the sum is made as the numerics say, by
/// default in double, without an error, and clamped in double.
template <NumericsPolicy N>
[[nodiscard]] TQ_FORCE_INLINE std::int32_t quantize_wide(float x, const Slot& s, const N& n,
                                                         std::uint64_t index) noexcept {
  constexpr float beyond = 0x1p33f;  // every code, whatever the zero point
  float v = N::scaling_type::apply(x, s.scale);
  if (!(v == v)) v = std::same_as<typename N::nan_type, NanToMin> ? -beyond : 0.0f;
  v = v < -beyond ? -beyond : v;
  v = v > beyond ? beyond : v;
  double code = N::range_arithmetic::plus(n.rounding(v, index), s.zero_point);
  code = code < s.qmin ? s.qmin : code;
  code = code > s.qmax ? s.qmax : code;
  return static_cast<std::int32_t>(code);
}

/// `dequantize` of such codes: their difference, exact in double, is rounded to float32 once, as
/// when int32 is converted.
[[nodiscard]] TQ_FORCE_INLINE float dequantize_wide(std::int32_t code, float scale,
                                                    std::int32_t zero_point) noexcept {
  return static_cast<float>(static_cast<double>(code) - zero_point) * scale;
}

/// The parameters and the codes of one element whose code 0 stands for an offset.
struct OffsetSlot {
  float scale, offset;
  std::int32_t qmin, qmax;
};

/// clamp(round((x - m) / s), qmin, qmax): the difference and the quotient are rounded to float32.
/// NaN becomes the code of 0, or the lowest, by policy.
template <NumericsPolicy N>
[[nodiscard]] TQ_FORCE_INLINE std::int32_t quantize_offset(float x, const OffsetSlot& s, const N& n,
                                                           std::uint64_t index) noexcept {
  const auto lo = static_cast<float>(s.qmin), hi = static_cast<float>(s.qmax);
  const bool is_number = x == x;
  float v = N::scaling_type::apply((is_number ? x : 0.0f) - s.offset, s.scale);
  if (!is_number && std::same_as<typename N::nan_type, NanToMin>) v = lo;
  if (!(v == v)) v = 0.0f;  // 0 times the infinite reciprocal of a scale: x is the offset
  v = v < lo ? lo : v;
  v = v > hi ? hi : v;
  return static_cast<std::int32_t>(n.rounding(v, index));
}

/// float(q) * s + m, the product and the sum rounded to float32 each.
[[nodiscard]] TQ_FORCE_INLINE float dequantize_offset(std::int32_t code, float scale,
                                                      float offset) noexcept {
  return detail::uncontracted(static_cast<float>(code) * scale) + offset;
}

/// The code of x / scale in format F. A scale of 0 makes every value 0.
template <ValueFormat F, NumericsPolicy N>
  requires RoundsBy<F, typename N::rounding_type>
[[nodiscard]] TQ_FORCE_INLINE std::uint32_t encode(float x, float scale, const N& n,
                                                   std::uint64_t index) noexcept {
  const float v = scale == 0.0f && x == x ? 0.0f : N::scaling_type::apply(x, scale);
  return F::template encode<typename N::overflow_type>(v, n.rounding, index);
}

/// value(code) * scale.
template <ValueFormat F>
[[nodiscard]] TQ_FORCE_INLINE float decode(std::uint32_t code, float scale) noexcept {
  return F::decode(code) * scale;
}

}  // namespace tq::reference

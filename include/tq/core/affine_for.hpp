// SPDX-License-Identifier: MIT
#pragma once
// affine_for: the one way from a range to scale and zero point, scale_for to the scale beside an
// offset.

#include <tq/core/element.hpp>
#include <tq/core/symmetry.hpp>
#include <tq/numeric/numerics.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

namespace tq {

namespace detail {

// The float before a positive one.
constexpr float float_below(float x) noexcept {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) - 1u);
}

// Whether a * b is finite in float32: exact in double, it rounds to an infinity from half a step
// above the largest float on.
constexpr bool is_product_finite(float a, float b) noexcept {
  return double(a) * double(b) < 0x1.ffffffp127;
}

// The largest scale whose product with `widest` > 0 is finite.
constexpr float largest_scale_for(float widest) noexcept {
  constexpr double most = double(std::numeric_limits<float>::max());
  float scale = static_cast<float>(
      std::min(0x1.ffffffp127 / double(widest), most));  // it, or the float after it
  while (!is_product_finite(scale, widest)) scale = float_below(scale);
  return scale;
}

// The largest |value|, or |code - zero point| whatever the zero point.
template <Element T, class S>
constexpr float widest_code() noexcept {
  if constexpr (CodedElement<T>) {
    return T::format::max_finite;
  } else {
    const double low = S::template codes<T>().min, high = S::template codes<T>().max;
    return static_cast<float>(S::has_zero_point ? high - low : std::max(-low, high));
  }
}
// The same under a zero point.
template <IntegerElement T, class S>
constexpr float widest_code(std::int32_t zero_point) noexcept {
  const double low = S::template codes<T>().min, high = S::template codes<T>().max,
               zero = zero_point;
  return static_cast<float>(std::max(high - zero, zero - low));
}

// Under scales up to this every code decodes to a finite value, whatever the zero point.
template <Element T, class S>
inline constexpr float always_finite = largest_scale_for(widest_code<T, S>());

// The scale that the symmetry gives a range; a user's own may not ask for numerics.
template <Element T, class S, NumericsPolicy N>
[[nodiscard]] constexpr Affine formula_for(Range r) {
  static_assert(!OffsetSymmetry<S>, "tq: this operation knows zero points and no float offsets");
  using D = degenerate_of<N>;
  if constexpr (requires { S::template affine<T, D, typename N::range_arithmetic>(r); })
    return S::template affine<T, D, typename N::range_arithmetic>(r);
  else if constexpr (requires { S::template affine<T, D>(r); }) return S::template affine<T, D>(r);
  else return S::template affine<T>(r);
}

// The zero point of a range under a scale that is given. A symmetry of the user may know no other
// scale than its own. Codes that float32 does not hold are rounded to it: not quite to the end, so
// that they stay finite.
template <Element T, class S, NumericsPolicy N>
[[nodiscard]] constexpr std::int32_t zero_point_for(Range r, float scale) {
  if constexpr (!SmallInteger<T>) r.min = std::max(r.min, -0x1.fffff8p127f);
  if constexpr (requires { S::template zero_point<T, typename N::range_arithmetic>(r, scale); })
    return S::template zero_point<T, typename N::range_arithmetic>(r, scale);
  else if constexpr (requires { S::template zero_point<T>(r, scale); })
    return S::template zero_point<T>(r, scale);
  else return formula_for<T, S, N>(r).zero_point;
}

// The largest scale up to `scale` with which every code decodes to a finite value, under the zero
// point it has itself. With a smaller scale zero points of a range grow no further than that, so it
// is enough.
template <Element T, class S, NumericsPolicy N>
[[nodiscard]] constexpr float finite_scale(Range r, float scale) {
  if (scale <= always_finite<T, S>) return scale;
  if constexpr (S::has_zero_point)
    return std::min(scale, largest_scale_for(widest_code<T, S>(zero_point_for<T, S, N>(r, scale))));
  else return always_finite<T, S>;
}

}  // namespace detail

/// Scale and zero point (0 where the symmetry has none) of the codes of T for the range `r`, by the
/// formula of the symmetry in the arithmetic of the numerics. Every code decodes to a finite value:
/// where that of the peers would make an end an infinity, the scale is the largest with which it
/// does not. Throws: `errc::bad_scale` under `ScaleRaises`.
template <Element T, SymmetryFor<T> S, NumericsPolicy N = Numerics<>>
[[nodiscard]] constexpr Affine affine_for(Range r) {
  const Affine a = detail::formula_for<T, S, N>(r);
  const float scale = detail::finite_scale<T, S, N>(r, a.scale);
  if constexpr (S::has_zero_point)
    if (!SmallInteger<T> || scale != a.scale)
      return {scale, detail::zero_point_for<T, S, N>(r, scale)};
  return {scale, a.zero_point};
}

/// The scale beside an offset (`offsets_for`), as above: code * scale is finite for every code.
/// Throws: `errc::bad_scale` under `ScaleRaises`.
template <Element T, SymmetryFor<T> S, NumericsPolicy N = Numerics<>>
  requires OffsetSymmetry<S>
[[nodiscard]] constexpr float scale_for(Range r) {
  const float scale =
      S::template scale<T, detail::degenerate_of<N>, typename N::range_arithmetic>(r);
  return detail::finite_scale<T, S, N>(r, scale);
}

}  // namespace tq

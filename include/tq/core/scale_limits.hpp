// SPDX-License-Identifier: MIT
#pragma once
// What rounding a scale to be stored must leave true: end codes decode to finite values, and nothing becomes something.

#include <tq/core/element.hpp>
#include <tq/core/symmetry.hpp>
#include <tq/numeric/numerics.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace tq {

namespace detail {

// The float before a positive one.
constexpr float float_below(float x) noexcept { return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) - 1u); }

// Whether a * b is finite in float32: exact in double, it rounds to an infinity from half a step above the largest float on.
constexpr bool is_product_finite(float a, float b) noexcept { return double{a} * double{b} < 0x1.ffffffp127; }

// The largest scale whose product with `widest` > 0 is finite.
constexpr float largest_scale_for(float widest) noexcept {
  constexpr float most = std::numeric_limits<float>::max();
  float scale = widest <= 1.0f ? most : static_cast<float>(double{most} / double{widest});
  while (!is_product_finite(scale, widest)) scale = float_below(scale);
  for (float next = scale; next < most && is_product_finite(next, widest);) {
    scale = next;
    next = std::bit_cast<float>(std::bit_cast<std::uint32_t>(next) + 1u);
  }
  return scale;
}

// The largest |value| or |code - zero point|, whatever the zero point.
template <Element T, class S>
constexpr float widest_code() noexcept {
  if constexpr (CodedElement<T>) {
    return T::format::max_finite;
  } else {
    const double low = S::template codes<T>().min, high = S::template codes<T>().max;
    return static_cast<float>(S::has_zero_point ? high - low : std::max(-low, high));
  }
}

// A symmetry of the user may know no other scale than its own.
template <class T, class S, NumericsPolicy N>
[[nodiscard]] std::int32_t zero_point_for(Range r, float scale) {
  if constexpr (requires { S::template zero_point<T>(r, scale); })
    return S::template zero_point<T>(r, scale);
  else
    return S::template affine<T, typename N::degenerate_type>(r).zero_point;
}

// Whether the lowest and the highest code decode to finite values under `scale` and the zero point that goes with it.
template <Element T, class S>
[[nodiscard]] bool ends_are_finite([[maybe_unused]] Range r, float scale) {
  if constexpr (S::has_zero_point) {
    const double zero = zero_point_for<T, S, Numerics<>>(r, scale);
    const double low = S::template codes<T>().min, high = S::template codes<T>().max;
    return is_product_finite(static_cast<float>(high - zero), scale) && is_product_finite(static_cast<float>(zero - low), scale);
  } else {
    return is_product_finite(widest_code<T, S>(), scale);
  }
}

// Whether real 0 has a code.
template <Element T>
constexpr bool has_zero() noexcept {
  if constexpr (CodedElement<T>) return T::format::decode(T::format::template encode<Saturate>(0.0f, NearestEven{}, 0)) == 0.0f;
  else return true;
}

// The code of the next smaller value, of those of positive values.
template <ValueFormat F>
constexpr std::uint32_t code_below(std::uint32_t code) noexcept {
  if constexpr (requires { F::order; }) {
    const auto at = std::find(F::order.begin(), F::order.end(), code);
    return at == F::order.begin() ? code : *(at - 1);
  } else {
    return code - 1u;
  }
}

}  // namespace detail

/// What an element under a symmetry asks of scales as they are stored, beside that they are near. The default asks that a
/// positive scale stays positive.
struct ScaleRules {
  float safe = std::numeric_limits<float>::max();  ///< under scales up to this every code decodes to a finite value
  bool (*ends_are_finite)(Range, float) = nullptr;  ///< whether both ends do, under a scale for that range
  bool has_zero = true;       ///< whether real 0 has a code: if not, what rounds to the scale 0 has the scale 0
  bool must_be_positive = false;  ///< integers know no scale of 0

  /// Whether `scale`, made of `range`, can be stored.
  [[nodiscard]] bool allows(Range range, float scale) const {
    return !(scale > safe) || (ends_are_finite != nullptr && ends_are_finite(range, scale));
  }
};

/// The rules of element T under symmetry S.
template <Element T, class S>
inline constexpr ScaleRules scale_rules{detail::largest_scale_for(detail::widest_code<T, S>()), &detail::ends_are_finite<T, S>,
                                        detail::has_zero<T>(), IntegerElement<T>};

}  // namespace tq

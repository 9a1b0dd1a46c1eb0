// SPDX-License-Identifier: MIT
#pragma once
// What rounding a scale to be stored must leave true: end codes decode to finite values, and nothing becomes something.

#include <tq/core/affine_for.hpp>
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

// Whether every code decodes to a finite value under `scale` and the zero point that goes with it.
template <Element T, class S, NumericsPolicy N>
[[nodiscard]] bool is_finite_under([[maybe_unused]] Range r, float scale) {
  if constexpr (S::has_zero_point) return is_product_finite(widest_code<T, S>(zero_point_for<T, S, N>(r, scale)), scale);
  else return is_product_finite(widest_code<T, S>(), scale);
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
  bool (*is_finite)(Range, float) = nullptr;       ///< whether it does under a larger one, that was made of this range
  bool has_zero = true;           ///< whether real 0 has a code: if not, what rounds to the scale 0 has the scale 0
  bool must_be_positive = false;  ///< integers know no scale of 0

  /// Whether `scale`, made of `range`, can be stored.
  [[nodiscard]] bool allows(Range range, float scale) const {
    return !(scale > safe) || (is_finite != nullptr && is_finite(range, scale));
  }
};

/// The rules of element T under symmetry S, with zero points by numerics N.
template <Element T, class S, NumericsPolicy N>
inline constexpr ScaleRules scale_rules{detail::always_finite<T, S>, &detail::is_finite_under<T, S, N>, detail::has_zero<T>(),
                                        IntegerElement<T>};

}  // namespace tq

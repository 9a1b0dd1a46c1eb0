// SPDX-License-Identifier: MIT
#pragma once
// Quotient: the ways to divide by a scale, and where they are exact.

#include <tq/arch/lanes.hpp>

#include <cstdint>

namespace tq::kernels {

/// How x / s is computed. All but `multiply` give the correctly rounded quotient's code.
enum class Quotient : std::uint8_t {
  multiply,   ///< x * inv, inv = 1 / s rounded: the Reciprocal contract
  corrected,  ///< x * inv with one Newton step in FMA: equal to the division where `correctable()`
  split,      ///< x * inv + x * rest, rest = 1 / s - inv, in FMA: the same with less work, but any infinity or NaN
              ///< where x is infinite or a product overflows
  divide,     ///< x / s
};

/// Whether a quotient needs scales that are `correctable()`.
TQ_FORCE_INLINE constexpr bool needs_correctable(Quotient q) noexcept {
  return q == Quotient::corrected || q == Quotient::split;
}

/// The same quotient where reciprocals are at hand or are asked for, else that of division.
template <class Params>
TQ_FORCE_INLINE constexpr Quotient quotient_with(Quotient q) noexcept {
  return Params::has_reciprocals || q == Quotient::multiply ? q : Quotient::divide;
}

/// Range of scales for which no intermediate of the corrected and the split quotient under- or overflows near a tie.
/// That within it the codes of types up to 8 bits equal those of x / s is proven by enumeration over all
/// significands (tests/unit/kernels/exact_quotient.test.cpp).
inline constexpr float least_correctable = 0x1p-64f, most_correctable = 0x1p64f;
TQ_FORCE_INLINE constexpr bool correctable(float scale) noexcept {
  return scale >= least_correctable && scale <= most_correctable;
}

#if TQ_HAS_SIMD

/// What is missing from rounded reciprocals: 1 / s - inv, as the corrected quotient of 1 - s * inv (exact) and s.
template <class Arch>
TQ_FORCE_INLINE arch::floats<Arch> rest_of(const arch::floats<Arch>& scale,
                                           const arch::floats<Arch>& inverse) noexcept {
  using L = arch::lanes<Arch>;
  using F = arch::floats<Arch>;
  if constexpr (L::has_fma) {
    const F missing = L::fnma(scale, inverse, F(1.0f)), q = missing * inverse;
    return L::fma(L::fnma(scale, q, missing), inverse, q);
  } else {
    return F(0.0f);  // nothing asks for it
  }
}

#endif

}  // namespace tq::kernels

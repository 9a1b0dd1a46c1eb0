// SPDX-License-Identifier: MIT
#pragma once
// Quotient: the ways to divide by a scale, and where they are exact.

#include <tq/driver/reciprocal.hpp>

#include <cstdint>

namespace tq::kernels {

/// How x / s is computed. All but `multiply` give the correctly rounded quotient's code.
enum class Quotient : std::uint8_t {
  multiply,   ///< x * inv, inv = 1 / s rounded: the Reciprocal contract
  corrected,  ///< x * inv with one Newton step in FMA: equal to the division where `correctable()`
  split,      ///< x * inv + x * rest, rest = 1 / s - inv, in FMA: the same with less work, but any
              ///< infinity or NaN where x is infinite or a product overflows
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

using driver::correctable, driver::least_correctable, driver::most_correctable;
#if TQ_HAS_SIMD
using driver::rest_of;
#endif

}  // namespace tq::kernels

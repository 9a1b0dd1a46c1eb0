// SPDX-License-Identifier: MIT
#pragma once
// Reciprocals of scales, and what is missing from them.

#include <tq/arch/lanes.hpp>

#include <cstdint>

namespace tq::driver {

/// Range of scales for which no intermediate of a quotient by reciprocals under- or overflows near
/// a tie. That within it the codes of types up to 8 bits equal those of x / s is proven by
/// enumeration over all significands (tests/unit/kernels/exact_quotient.test.cpp).
inline constexpr float least_correctable = 0x1p-64f, most_correctable = 0x1p64f;
TQ_FORCE_INLINE constexpr bool correctable(float scale) noexcept {
  return scale >= least_correctable && scale <= most_correctable;
}

#if TQ_HAS_SIMD

/// 1 / s - inv of rounded reciprocals, as the corrected quotient of 1 - s * inv (exact) and s.
template <class Arch>
TQ_FORCE_INLINE arch::floats<Arch> rest_of(const arch::floats<Arch>& scale,
                                           const arch::floats<Arch>& inverse) noexcept {
  using L = arch::lanes<Arch>;
  using Floats = arch::floats<Arch>;
  if constexpr (L::has_fma) {
    const Floats missing = L::fnma(scale, inverse, Floats(1.0f)), q = missing * inverse;
    return L::fma(L::fnma(scale, q, missing), inverse, q);
  } else {
    return Floats(0.0f);  // nothing asks for it
  }
}

#endif

}  // namespace tq::driver

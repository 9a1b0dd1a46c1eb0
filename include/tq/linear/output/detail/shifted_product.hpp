// SPDX-License-Identifier: MIT
#pragma once
// shifted_product: a sum times a fixed-point factor, rounded once, a tie up.

#include <tq/arch/batch.hpp>
#include <tq/arch/long_lanes.hpp>
#include <tq/config.hpp>

#include <cstddef>
#include <cstdint>

namespace tq::detail {

// (sum * mantissa + 2^(shift - 1)) >> shift, as far as 32 bits reach. L: `long_scalar` or
// `long_lanes`; only the low half of `mantissa` counts. Precondition: shift is in [1, 63].
template <class L>
[[nodiscard]] TQ_FORCE_INLINE typename L::longs shifted_product(
    const typename L::longs& sum, const typename L::longs& mantissa,
    const typename L::longs& shift) noexcept {
  const auto one = L::all(1);
  const auto half = L::left(one, L::subtract(shift, one));
  return L::saturate(L::right(L::add(L::multiply(sum, mantissa), half), shift));
}

#if TQ_HAS_SIMD
// The same of lanes of sums. `factors`: a mantissa and a number for each lane, side by side;
// `shift_of` makes shifts of numbers.
template <class Arch, class Factor, class ShiftOf>
[[nodiscard]] TQ_FORCE_INLINE arch::ints<Arch> shifted_products(const arch::ints<Arch>& sums,
                                                                const Factor* factors,
                                                                const ShiftOf& shift_of) noexcept {
  static_assert(sizeof(Factor) == 8);
  using L = arch::long_lanes<Arch>;
  const auto half_of = [&](const typename L::longs& sum, std::size_t first) TQ_LAMBDA_INLINE {
    const typename L::longs factor = L::load(factors + first);
    return shifted_product<L>(sum, factor, shift_of(L::upper(factor)));
  };
  return L::join(half_of(L::low(sums), 0), half_of(L::high(sums), arch::width<Arch> / 2));
}
#endif

}  // namespace tq::detail

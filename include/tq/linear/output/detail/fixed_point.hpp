// SPDX-License-Identifier: MIT
#pragma once
// Sums times fixed-point factors in lanes, rounded by the rules of peers: exactly what
// linear/output/requantize.hpp says of one sum.

#include <tq/arch/batch.hpp>
#include <tq/arch/long_lanes.hpp>
#include <tq/config.hpp>

#include <cstddef>
#include <cstdint>

namespace tq::kernels {

#if TQ_HAS_SIMD

/// (sum * mantissa + 2^(shift - 1)) >> shift, as far as 32 bits reach. `factors`: a mantissa, not
/// negative, and a number for each lane, side by side; the shift, in [1, 63], is `base` less the
/// number, or the number where `base` is 0.
template <class Arch, int Base>
[[nodiscard]] TQ_FORCE_INLINE arch::ints<Arch> shifted_products(const arch::ints<Arch>& sums,
                                                                const void* factors) noexcept {
  using L = arch::long_lanes<Arch>;
  const auto half_of = [&](typename L::longs sum, std::size_t half) TQ_LAMBDA_INLINE {
    const auto factor =
        L::load(static_cast<const std::int64_t*>(factors) + half * (sizeof(typename L::longs) / 8));
    auto shift = L::upper(factor);
    // Numbers may be negative: only the low half of the difference counts.
    if constexpr (Base != 0) shift = L::lower(L::subtract(L::all(Base), shift));
    const auto one = L::all(1);
    const auto tie = L::left(one, L::subtract(shift, one));
    return L::saturate(L::right(L::add(L::multiply(sum, factor), tie), shift));
  };
  return L::join(half_of(L::low(sums), 0), half_of(L::high(sums), 1));
}

/// gemmlowp's product: the sum shifted to the left by what the exponent is above 0, as far as 32
/// bits reach; the high half of the doubled product with the mantissa, a tie up; shifted to the
/// right by what the exponent is below 0, a tie away from zero. `factors`: a mantissa, not
/// negative, and an exponent in [-31, 30] for each lane, side by side.
template <class Arch>
[[nodiscard]] TQ_FORCE_INLINE arch::ints<Arch> doubled_products(const arch::ints<Arch>& sums,
                                                                const void* factors) noexcept {
  using L = arch::long_lanes<Arch>;
  using I = arch::ints<Arch>;
  const auto* at = static_cast<const std::int64_t*>(factors);
  const typename L::longs low = L::load(at), high = L::load(at + sizeof low / sizeof *at);
  const I exponent = L::join(L::upper(low), L::upper(high)), left = xsimd::max(exponent, I(0)),
          right = xsimd::max(I(0) - exponent, I(0));
  const auto product = [](typename L::longs sum, typename L::longs by,
                          typename L::longs factor) TQ_LAMBDA_INLINE {
    const auto p =
        L::add(L::multiply(L::saturate(L::left(sum, by)), factor), L::all(std::int64_t{1} << 30));
    return L::upper(L::add(p, p));
  };
  const I v = L::join(product(L::low(sums), L::low(left), low),
                      product(L::high(sums), L::high(left), high));
  // gemmlowp's form of the shift stays within 32 bits.
  const I mask = (I(1) << right) - I(1);
  const I rest = v & mask, threshold = (mask >> 1) + ((v >> 31) & I(1));
  return xsimd::select(rest > threshold, (v >> right) + I(1), v >> right);
}

#endif

}  // namespace tq::kernels

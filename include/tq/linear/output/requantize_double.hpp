// SPDX-License-Identifier: MIT
#pragma once
// RequantizeDouble: the rule of gemmlowp and TensorFlow Lite.

#include <tq/arch/batch.hpp>
#include <tq/arch/long_lanes.hpp>
#include <tq/config.hpp>
#include <tq/linear/output/detail/scale_factor.hpp>
#include <tq/linear/output/fixed_multiplier.hpp>

#include <algorithm>
#include <cstdint>

namespace tq {

/// gemmlowp and TensorFlow Lite: the high half of the doubled product, a tie up, then a shift to
/// the right, a tie away from zero. Rounds twice: 11.499 may become 12.
struct RequantizeDouble {
  using multiplier = FixedMultiplier;

  [[nodiscard]] static double factor(float x, float w, float y) noexcept {
    return detail::double_factor(x, w, y);
  }
  /// Throws: as `FixedMultiplier::of`.
  [[nodiscard]] static FixedMultiplier make(double factor) { return FixedMultiplier::of(factor); }
  [[nodiscard]] static std::int32_t apply(std::int32_t sum, const FixedMultiplier& m) noexcept {
    using L = arch::long_scalar;
    const int left = std::max(m.exponent, 0), right = std::max(-m.exponent, 0);
    return shifted(L::saturate(L::right(product<L>(sum, left, m.mantissa), 31)), right);
  }
#if TQ_HAS_SIMD
  /// Mantissas may not be negative, as those of `make` are not.
  template <class Arch>
    requires(arch::long_lanes<Arch>::exists)
  [[nodiscard]] static arch::ints<Arch> lanes(const arch::ints<Arch>& sums,
                                              const FixedMultiplier* m) noexcept {
    using L = arch::long_lanes<Arch>;
    using I = arch::ints<Arch>;
    const typename L::longs first = L::load(m), last = L::load(m + arch::width<Arch> / 2);
    const I exponent = L::join(L::upper(first), L::upper(last)), left = xsimd::max(exponent, I(0)),
            right = xsimd::max(I(0) - exponent, I(0));
    const I high = L::join(high_half<L>(product<L>(L::low(sums), L::low(left), first)),
                           high_half<L>(product<L>(L::high(sums), L::high(left), last)));
    return shifted_lanes<Arch>(high, right);
  }
#endif

 private:
  // The product of SaturatingRoundingDoublingHighMul, with the half that rounds it, before its 31
  // low bits are dropped. gemmlowp rounds a quotient towards zero, after it added 2^30 to a product,
  // or 1 - 2^30 to a negative one: that is the same number.
  template <class L>
  [[nodiscard]] static TQ_FORCE_INLINE typename L::longs product(
      const typename L::longs& sum, const typename L::longs& left,
      const typename L::longs& mantissa) noexcept {
    return L::add(L::multiply(L::saturate(L::left(sum, left)), mantissa),
                  L::all(std::int64_t{1} << 30));
  }
  // RoundingDivideByPOT
  [[nodiscard]] static std::int32_t shifted(std::int64_t v, int by) noexcept {
    const std::int64_t half = by == 0 ? 0 : std::int64_t{1} << (by - 1);
    return static_cast<std::int32_t>((v + half - (v < 0 && by != 0 ? 1 : 0)) >> by);
  }
#if TQ_HAS_SIMD
  // The high halves of doubled products, which 32 bits hold.
  template <class L>
  [[nodiscard]] static TQ_FORCE_INLINE typename L::longs high_half(
      const typename L::longs& product) noexcept {
    return L::upper(L::add(product, product));
  }
  // gemmlowp's form of `shifted`, which stays within 32 bits.
  template <class Arch>
  [[nodiscard]] static TQ_FORCE_INLINE arch::ints<Arch> shifted_lanes(
      const arch::ints<Arch>& v, const arch::ints<Arch>& by) noexcept {
    using I = arch::ints<Arch>;
    const I mask = (I(1) << by) - I(1);
    const I rest = v & mask, threshold = (mask >> 1) + ((v >> 31) & I(1));
    return arch::select<Arch>(rest > threshold, (v >> by) + I(1), v >> by);
  }
#endif
};

}  // namespace tq

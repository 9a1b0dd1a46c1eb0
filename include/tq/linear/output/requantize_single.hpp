// SPDX-License-Identifier: MIT
#pragma once
// RequantizeSingle: the rule of TensorFlow Lite with single rounding.

#include <tq/arch/batch.hpp>
#include <tq/arch/long_lanes.hpp>
#include <tq/config.hpp>
#include <tq/linear/output/detail/scale_factor.hpp>
#include <tq/linear/output/detail/shifted_product.hpp>
#include <tq/linear/output/fixed_multiplier.hpp>

#include <cstdint>

namespace tq {

/// TensorFlow Lite with single rounding: the whole product shifted once, a tie up.
struct RequantizeSingle {
  using multiplier = FixedMultiplier;

  [[nodiscard]] static double factor(float x, float w, float y) noexcept {
    return detail::double_factor(x, w, y);
  }
  /// Throws: as `FixedMultiplier::of`.
  [[nodiscard]] static FixedMultiplier make(double factor) { return FixedMultiplier::of(factor); }
  [[nodiscard]] static std::int32_t apply(std::int32_t sum, const FixedMultiplier& m) noexcept {
    using L = arch::long_scalar;
    return static_cast<std::int32_t>(
        detail::shifted_product<L>(sum, m.mantissa, shift<L>(m.exponent)));
  }
#if TQ_HAS_SIMD
  template <class Arch>
    requires(arch::long_lanes<Arch>::exists)
  [[nodiscard]] static arch::ints<Arch> lanes(const arch::ints<Arch>& sums,
                                              const FixedMultiplier* m) noexcept {
    return detail::shifted_products<Arch>(sums, m, [](const auto& exponent) TQ_LAMBDA_INLINE {
      return shift<arch::long_lanes<Arch>>(exponent);
    });
  }
#endif

 private:
  // 31 - exponent. An exponent may be negative: only the low half of the difference counts.
  template <class L>
  [[nodiscard]] static TQ_FORCE_INLINE typename L::longs shift(
      const typename L::longs& exponent) noexcept {
    return L::lower(L::subtract(L::all(31), exponent));
  }
};

}  // namespace tq

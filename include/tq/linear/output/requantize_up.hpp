// SPDX-License-Identifier: MIT
#pragma once
// RequantizeUp: the rule of XNNPACK's rndnu.

#include <tq/arch/batch.hpp>
#include <tq/arch/long_lanes.hpp>
#include <tq/config.hpp>
#include <tq/error.hpp>
#include <tq/linear/output/detail/scale_factor.hpp>
#include <tq/linear/output/detail/shifted_product.hpp>

#include <bit>
#include <cstdint>

namespace tq {

/// XNNPACK's rndnu: the 24 bits of a float32 factor, the whole product shifted once, a tie up.
struct RequantizeUp {
  /// A factor as 24 bits and a shift.
  struct multiplier {
    std::int32_t mantissa = 0;  ///< 0, or of 24 bits
    int shift = 2;              ///< in [2, 63]
    friend bool operator==(const multiplier&, const multiplier&) = default;
  };

  [[nodiscard]] static double factor(float x, float w, float y) noexcept {
    return detail::float_factor(x, w, y);
  }
  /// Factors below 2^-40 become 0, which all sums times them are. Throws: `errc::bad_scale` for a
  /// factor that is negative, NaN, or 2^22 or more.
  [[nodiscard]] static multiplier make(double factor) {
    const auto m = static_cast<float>(factor);
    if (!(m >= 0 && m < 0x1p22f))
      detail::raise_expected(errc::bad_scale, "tq::RequantizeUp",
                             {"a factor of at least 0 and below 2^22"}, {m});
    if (m < 0x1p-40f) return {};
    const auto bits = std::bit_cast<std::uint32_t>(m);
    return {static_cast<std::int32_t>((bits & 0x7fffffu) | 0x800000u),
            150 - static_cast<int>(bits >> 23)};
  }
  [[nodiscard]] static std::int32_t apply(std::int32_t sum, const multiplier& m) noexcept {
    return static_cast<std::int32_t>(
        detail::shifted_product<arch::long_scalar>(sum, m.mantissa, m.shift));
  }
#if TQ_HAS_SIMD
  template <class Arch>
    requires(arch::long_lanes<Arch>::exists)
  [[nodiscard]] static arch::ints<Arch> lanes(const arch::ints<Arch>& sums,
                                              const multiplier* m) noexcept {
    return detail::shifted_products<Arch>(sums, m,
                                          [](const auto& shift) TQ_LAMBDA_INLINE { return shift; });
  }
#endif
};

}  // namespace tq

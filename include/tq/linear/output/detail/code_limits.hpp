// SPDX-License-Identifier: MIT
#pragma once
// CodeLimits: rounded products become codes.

#include <tq/arch/batch.hpp>
#include <tq/config.hpp>

#include <cstdint>
#include <limits>

namespace tq::detail {

// clamp(v + zero point, low, high) of a rounded number of 32 bits, which stays within these.
class CodeLimits {
 public:
  // Precondition: low <= high, both of them codes.
  TQ_FORCE_INLINE CodeLimits(std::int32_t zero_point, std::int32_t low,
                             std::int32_t high) noexcept {
    const std::int64_t least = std::int64_t{low} - zero_point,
                       most = std::int64_t{high} - zero_point;
    if (least > int32::max()) zero_point_ = low, least_ = most_ = 0;  // no sum reaches more
    else if (most < int32::min()) zero_point_ = high, least_ = most_ = 0;
    else {
      zero_point_ = zero_point;
      least_ = least < int32::min() ? int32::min() : static_cast<std::int32_t>(least);
      most_ = most > int32::max() ? int32::max() : static_cast<std::int32_t>(most);
    }
  }
  [[nodiscard]] TQ_FORCE_INLINE std::int32_t code(std::int32_t v) const noexcept {
    return (v < least_ ? least_ : v > most_ ? most_ : v) + zero_point_;
  }
#if TQ_HAS_SIMD
  template <class Arch>
  [[nodiscard]] TQ_FORCE_INLINE arch::ints<Arch> codes(const arch::ints<Arch>& v) const noexcept {
    using I = arch::ints<Arch>;
    return xsimd::min(xsimd::max(v, I(least_)), I(most_)) + I(zero_point_);
  }
#endif

 private:
  using int32 = std::numeric_limits<std::int32_t>;
  std::int32_t least_, most_, zero_point_;  // limits of what is rounded
};

}  // namespace tq::detail

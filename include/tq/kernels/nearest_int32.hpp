// SPDX-License-Identifier: MIT
#pragma once
// NearestInt32: floats as integers of 32 bits, which requantizations by floats share.

#include <tq/arch/batch.hpp>
#include <tq/numeric/rounding.hpp>

#include <cstdint>

namespace tq::kernels {

/// Rounds a float32 to the nearest integer, a tie to even, as far as 32 bits reach: at most the
/// largest float32 below 2^31. `one` makes the lowest integer of NaN, and `lanes` takes none.
struct NearestInt32 {
  static constexpr float least = -0x1p31f, most = 2147483520.0f;

  [[nodiscard]] static TQ_FORCE_INLINE std::int32_t one(float v) noexcept {
    v = v > least ? v : least;
    v = v < most ? v : most;
    return static_cast<std::int32_t>(NearestEven{}(v, 0));
  }
#if TQ_HAS_SIMD
  template <class Arch>
  [[nodiscard]] static TQ_FORCE_INLINE arch::ints<Arch> lanes(
      const arch::floats<Arch>& v) noexcept {
    using Floats = arch::floats<Arch>;
    return arch::round_to_int<Arch>(arch::clamp<Arch>(v, Floats(least), Floats(most)));
  }
#endif
};

}  // namespace tq::kernels

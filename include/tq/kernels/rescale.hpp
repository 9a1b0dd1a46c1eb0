// SPDX-License-Identifier: MIT
#pragma once
// Stage of sums that become floats: the outputs of a layer.

#include <tq/arch/lanes.hpp>
#include <tq/driver/policies.hpp>
#include <tq/kernels/scaled_sum.hpp>
#include <tq/numeric/rounding.hpp>

#include <cstddef>
#include <cstdint>

namespace tq::kernels {

/// A ScaledSum and a bias of float32, the sum of both rounded to float32 and clamped. A bias of -0
/// changes nothing.
class Rescale {
 public:
  /// The column behind those of a ScaledSum, of float32.
  static constexpr std::size_t real_bias = 3;
  static constexpr std::size_t columns = 4;
  static constexpr bool takes_scales = false, takes_origins = false, draws = false;

  /// Precondition: low <= high.
  TQ_FORCE_INLINE Rescale(float low, float high) noexcept : low_(low), high_(high) {}

  template <class Arch, class P>
  [[nodiscard]] TQ_FORCE_INLINE float one(std::int32_t sum, const P& p, std::size_t i,
                                          std::uint64_t) const noexcept {
    const float v = tq::detail::uncontracted(ScaledSum::one(sum, p, i)) +
                    p.template number<float>(real_bias, i);
    return v < low_ ? low_ : high_ < v ? high_ : v;
  }

#if TQ_HAS_SIMD
  template <class Arch>
  static constexpr driver::Divides divides = driver::Divides::no;

  // Limits by comparisons, as which zero `max` takes depends on the instruction set.
  template <class Arch, bool, class P>
  [[nodiscard]] TQ_FORCE_INLINE arch::floats<Arch> lanes(const arch::ints<Arch>& sum, const P& p,
                                                         std::size_t i,
                                                         std::size_t k) const noexcept {
    using Floats = arch::floats<Arch>;
    const Floats v = arch::uncontracted<Arch>(ScaledSum::lanes<Arch>(sum, p, i, k)) +
                     p.template numbers<float>(real_bias, i, k);
    const Floats low(low_), high(high_);
    return xsimd::select(v < low, low, xsimd::select(high < v, high, v));
  }
#endif

 private:
  float low_, high_;
};

}  // namespace tq::kernels

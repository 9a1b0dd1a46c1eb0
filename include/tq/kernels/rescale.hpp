// SPDX-License-Identifier: MIT
#pragma once
// Stage of sums that become floats: the outputs of a layer.

#include <tq/arch/lanes.hpp>
#include <tq/driver/policies.hpp>
#include <tq/numeric/rounding.hpp>

#include <cstddef>
#include <cstdint>

namespace tq::kernels {

/// float(sum + whole) * (row scale * column scale) + real, each operation rounded to float32, and
/// clamped. Sums with their biases are modulo 2^32. A bias of -0 changes nothing.
class Rescale {
 public:
  /// Its columns, of float32, float32, int32 and float32.
  enum Column : std::size_t { row_scale, column_scale, whole, real };
  static constexpr std::size_t columns = 4;
  static constexpr bool takes_scales = false, takes_origins = false, draws = false;

  /// Precondition: low <= high.
  TQ_FORCE_INLINE Rescale(float low, float high) noexcept : low_(low), high_(high) {}

  template <class Arch, class P>
  [[nodiscard]] TQ_FORCE_INLINE float one(std::int32_t sum, const P& p, std::size_t i,
                                          std::uint64_t) const noexcept {
    const auto all = static_cast<std::int32_t>(
        static_cast<std::uint32_t>(sum) +
        static_cast<std::uint32_t>(p.template number<std::int32_t>(whole, i)));
    const float scale =
        p.template number<float>(row_scale, i) * p.template number<float>(column_scale, i);
    const float v = tq::detail::uncontracted(static_cast<float>(all) * scale) +
                    p.template number<float>(real, i);
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
    const arch::ints<Arch> all = sum + p.template numbers<std::int32_t>(whole, i, k);
    const Floats scale =
        p.template numbers<float>(row_scale, i, k) * p.template numbers<float>(column_scale, i, k);
    const Floats v = arch::uncontracted<Arch>(xsimd::to_float(all) * scale) +
                     p.template numbers<float>(real, i, k);
    const Floats low(low_), high(high_);
    return xsimd::select(v < low, low, xsimd::select(high < v, high, v));
  }
#endif

 private:
  float low_, high_;
};

}  // namespace tq::kernels

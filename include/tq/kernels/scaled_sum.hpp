// SPDX-License-Identifier: MIT
#pragma once
// ScaledSum: what stages of sums of products begin with.

#include <tq/arch/lanes.hpp>
#include <tq/config.hpp>

#include <cstddef>
#include <cstdint>

namespace tq::kernels {

/// float(sum + bias) * (row scale * column scale), each product rounded to float32, by the first
/// three columns of a stage. Sums with their biases are modulo 2^32.
struct ScaledSum {
  /// Columns of float32, float32 and int32.
  enum Column : std::size_t { row_scale, column_scale, bias };

  template <class P>
  [[nodiscard]] static TQ_FORCE_INLINE float one(std::int32_t sum, const P& p,
                                                 std::size_t i) noexcept {
    const auto whole = static_cast<std::int32_t>(
        static_cast<std::uint32_t>(sum) +
        static_cast<std::uint32_t>(p.template number<std::int32_t>(bias, i)));
    const float factor =
        p.template number<float>(row_scale, i) * p.template number<float>(column_scale, i);
    return static_cast<float>(whole) * factor;
  }
#if TQ_HAS_SIMD
  template <class Arch, class P>
  [[nodiscard]] static TQ_FORCE_INLINE arch::floats<Arch> lanes(const arch::ints<Arch>& sum,
                                                                const P& p, std::size_t i,
                                                                std::size_t k) noexcept {
    const arch::ints<Arch> whole = sum + p.template numbers<std::int32_t>(bias, i, k);
    const arch::floats<Arch> factor =
        p.template numbers<float>(row_scale, i, k) * p.template numbers<float>(column_scale, i, k);
    return xsimd::to_float(whole) * factor;
  }
#endif
};

}  // namespace tq::kernels

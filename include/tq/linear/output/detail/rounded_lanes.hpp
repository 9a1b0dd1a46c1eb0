// SPDX-License-Identifier: MIT
#pragma once
// rounded_lanes: a row of sums through a rounding rule that has lanes.

#include <tq/arch/batch.hpp>
#include <tq/config.hpp>
#include <tq/kernels/requantize.hpp>
#include <tq/linear/output/detail/rounded_row.hpp>
#include <tq/linear/output/requantize.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tq::detail {

template <class R>
using bias_of = std::conditional_t<FloatBiasRequantizer<R>, float, std::int32_t>;

// The factors and biases of a row of sums: one of all, or one for each sum, with numbers that may
// be read behind the last.
template <class R>
struct RuleNumbers {
  const typename R::multiplier* factors;
  const bias_of<R>* bias;
  bool one_factor, one_bias;
};

#if TQ_HAS_SIMD
// The codes of `n` sums. Precondition: LaneRequantizer<R, Arch>.
template <class Arch, class R, class Code>
void rounded_lanes(const kernels::CodeLimits& limits, const RuleNumbers<R>& numbers,
                   const std::int32_t* sums, Code* out, std::size_t n) noexcept {
  kernels::rounded_row<Arch>(
      limits, sums, out, n,
      [&, numbers](const arch::ints<Arch>& v, std::size_t i) TQ_LAMBDA_INLINE {
        const auto* m = numbers.factors + (numbers.one_factor ? 0 : i);
        const auto* b = numbers.bias + (numbers.one_bias ? 0 : i);
        if constexpr (std::same_as<bias_of<R>, float>) return R::template lanes<Arch>(v, m, b);
        else return R::template lanes<Arch>(v + arch::ints<Arch>::load_unaligned(b), m);
      });
}
#endif

}  // namespace tq::detail

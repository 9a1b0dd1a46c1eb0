// SPDX-License-Identifier: MIT
#pragma once
// rule_lanes: a row of sums through a rule that has lanes, as codes.

#include <tq/arch/lanes.hpp>
#include <tq/config.hpp>
#include <tq/kernels/sum_blocks.hpp>
#include <tq/kernels/to_codes.hpp>
#include <tq/linear/output/detail/code_limits.hpp>
#include <tq/linear/output/requantizer.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tq::detail {

// The factors and biases of a row of sums: one of all, or one for each sum, with numbers that may
// be read behind the last.
template <class R>
struct RuleNumbers {
  const typename R::multiplier* factors;
  const bias_of<R>* bias;
  bool one_factor, one_bias;
};

#if TQ_HAS_SIMD
// out[i] = limits.code(R of sums[i] and its numbers), for `n` of them. Precondition:
// LaneRequantizer<R, Arch>.
template <class Arch, class R, class Code>
void rule_lanes(const CodeLimits& limits, const RuleNumbers<R>& numbers, const std::int32_t* sums,
                Code* out, std::size_t n) noexcept {
  static_assert(sizeof(Code) == 1);
  using L = arch::lanes<Arch>;
  using I = arch::ints<Arch>;
  const auto rounded = [numbers](const I& v, std::size_t i) TQ_LAMBDA_INLINE {
    const auto* m = numbers.factors + (numbers.one_factor ? 0 : i);
    const auto* b = numbers.bias + (numbers.one_bias ? 0 : i);
    if constexpr (std::same_as<bias_of<R>, float>) return R::template lanes<Arch>(v, m, b);
    else return R::template lanes<Arch>(v + I::load_unaligned(b), m);
  };
  kernels::sum_blocks<Arch>(
      sums, out, n, [&](const std::int32_t* from, std::size_t i, Code* to) TQ_LAMBDA_INLINE {
        constexpr std::size_t width = arch::width<Arch>;
        I v[4];
        TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) v[k] = limits.template codes<Arch>(
            rounded(I::load_unaligned(from + k * width), i + k * width));
        kernels::ToBytes::put<Arch, false>(reinterpret_cast<unsigned char*>(to),
                                           L::template narrow8<std::is_signed_v<Code>>(
                                               L::pack16(v[0], v[1]), L::pack16(v[2], v[3])));
      });
}
#endif

}  // namespace tq::detail

// SPDX-License-Identifier: MIT
#pragma once
// rounded_row: a row of sums through a rounding that has lanes, as codes of 8 bits.

#include <tq/arch/lanes.hpp>
#include <tq/config.hpp>
#include <tq/driver/policies.hpp>
#include <tq/kernels/codes.hpp>
#include <tq/kernels/requantize.hpp>
#include <tq/kernels/to_codes.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tq::kernels {

#if TQ_HAS_SIMD

/// out[i] = limits.code(round(sums[i], i)), for `n` of them. `round(v, i)` makes of the lanes from
/// number i on their rounded products; it is called for whole blocks, whose lanes from number n on
/// are 0.
template <class Arch, class Code, class Round>
TQ_FORCE_INLINE void rounded_row(const CodeLimits& limits, const std::int32_t* sums, Code* out,
                                 std::size_t n, const Round& round) noexcept {
  static_assert(sizeof(Code) == 1);
  using L = arch::lanes<Arch>;
  using I = arch::ints<Arch>;
  constexpr std::size_t block = driver::block<Arch>;
  const auto put = [&](const std::int32_t* from, std::size_t i, Code* to) TQ_LAMBDA_INLINE {
    I v[4];
    TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) v[k] = limits.template codes<Arch>(
        round(I::load_unaligned(from + k * arch::width<Arch>), i + k * arch::width<Arch>));
    ToBytes::put<Arch, false>(
        reinterpret_cast<unsigned char*>(to),
        L::template narrow8<std::is_signed_v<Code>>(L::pack16(v[0], v[1]), L::pack16(v[2], v[3])));
  };
  std::size_t i = 0;
  for (; i + block <= n; i += block) put(sums + i, i, out + i);
  if (i == n) return;
  alignas(64) std::int32_t from[block] = {};
  alignas(64) Code to[block];
  std::memcpy(from, sums + i, (n - i) * sizeof *from);
  put(from, i, to);
  std::memcpy(out + i, to, n - i);
}

#endif

}  // namespace tq::kernels

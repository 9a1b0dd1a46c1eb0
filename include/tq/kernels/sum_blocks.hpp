// SPDX-License-Identifier: MIT
#pragma once
// sum_blocks: a part of a row of sums in whole blocks of registers, as a product writes its tiles:
// too few elements for a call of the driver.

#include <tq/arch/batch.hpp>
#include <tq/config.hpp>
#include <tq/driver/policies.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tq::kernels {

#if TQ_HAS_SIMD

/// Calls put(from, i, to) for each block of `n` sums: `to`, where the results of the block go, has
/// room for all of them, and `from` are the sums from number i on, of which those from number n on
/// are 0.
template <class Arch, class Out, class Put>
TQ_FORCE_INLINE void sum_blocks(const std::int32_t* sums, Out* out, std::size_t n,
                                const Put& put) noexcept {
  constexpr std::size_t block = driver::block<Arch>;
  std::size_t i = 0;
  for (; i + block <= n; i += block) put(sums + i, i, out + i);
  if (i == n) return;
  alignas(64) std::int32_t from[block] = {};
  alignas(64) Out to[block];
  std::memcpy(from, sums + i, (n - i) * sizeof *from);
  put(from, i, to);
  std::memcpy(out + i, to, (n - i) * sizeof *to);
}

#endif

}  // namespace tq::kernels

// SPDX-License-Identifier: MIT
#pragma once
// sums_row: a part of a row of sums as floats.

#include <tq/arch/lanes.hpp>
#include <tq/config.hpp>
#include <tq/driver/column_cursor.hpp>
#include <tq/kernels/codes.hpp>
#include <tq/kernels/floats.hpp>
#include <tq/kernels/rescale.hpp>
#include <tq/kernels/sum_blocks.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tq::kernels {

/// Numbers of 32 bits of the widest register: the copies that a column with one number needs.
inline constexpr std::size_t widest_register = 16;

/// out[i], for `n` of them: what `stage` makes of sums[i] by its columns. A block of numbers may be
/// read from each place of a column.
template <class Arch>
TQ_FORCE_INLINE void sums_row(
    const Rescale& stage, const std::int32_t* sums, float* out, std::size_t n,
    const std::array<driver::ColumnEntries, Rescale::columns>& columns) noexcept {
  const driver::ColumnCursor<Arch, Rescale::columns> p(columns.data(), 0);
#if TQ_HAS_SIMD
  if constexpr (!std::is_same_v<Arch, arch::scalar>) {
    sum_blocks<Arch>(
        sums, out, n, [&](const std::int32_t* from, std::size_t i, float* to) TQ_LAMBDA_INLINE {
          arch::ints<Arch> v[4];
          IntegerCodes<std::int32_t>::load<Arch>(reinterpret_cast<const unsigned char*>(from), v);
          arch::floats<Arch> made[4];
          TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) made[k] =
              stage.template lanes<Arch, false>(v[k], p, i, k);
          ToFloats<float>::put<Arch, false>(reinterpret_cast<unsigned char*>(to), made);
        });
    return;
  }
#endif
  for (std::size_t i = 0; i < n; ++i) out[i] = stage.template one<Arch>(sums[i], p, i, 0);
}

}  // namespace tq::kernels

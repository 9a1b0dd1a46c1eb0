// SPDX-License-Identifier: MIT
#pragma once
// sums_row: a part of a row of sums through a stage with columns, as a product writes its tiles:
// too few elements for a call of the driver.

#include <tq/arch/lanes.hpp>
#include <tq/config.hpp>
#include <tq/driver/column_cursor.hpp>
#include <tq/driver/policies.hpp>
#include <tq/driver/table.hpp>
#include <tq/kernels/codes.hpp>
#include <tq/kernels/floats.hpp>
#include <tq/kernels/requantize.hpp>
#include <tq/kernels/rescale.hpp>
#include <tq/kernels/to_codes.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tq::kernels {

/// Numbers of 32 bits of the widest register: the copies that a column with one number needs.
inline constexpr std::size_t widest_register = 16;

namespace detail {
#if TQ_HAS_SIMD
// A block of them: floats, or codes of 8 bits.
template <class Arch, class Stage, class Out, class P>
TQ_FORCE_INLINE void sums_block(const Stage& stage, const std::int32_t* sums, Out* out, const P& p,
                                std::size_t i) noexcept {
  arch::ints<Arch> v[1][4];
  IntegerCodes<std::int32_t>::load<Arch>(reinterpret_cast<const unsigned char*>(sums), v[0]);
  auto* to = reinterpret_cast<unsigned char*>(out);
  if constexpr (std::is_same_v<Out, float>) {
    arch::floats<Arch> made[4];
    TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) made[k] =
        stage.template lanes<Arch, false>(v[0][k], p, i, k);
    ToFloats<Out>::template put<Arch, false>(to, made);
  } else {
    typename Stage::template made<Arch> made[1];
    stage.template blocks<Arch, false>(v, p, i, 0, driver::NothingKept(stage), made);
    ToBytes::put<Arch, false>(to, made[0]);
  }
}
#endif
}  // namespace detail

/// out[i], for `n` of them: what the stage, `Rescale` or `Requantize`, makes of sums[i] by its
/// columns. A block of numbers may be read from each place of a column.
template <class Arch, class Stage, class Out>
TQ_FORCE_INLINE void sums_row(
    const Stage& stage, const std::int32_t* sums, Out* out, std::size_t n,
    const std::array<driver::ColumnEntries, Stage::columns>& columns) noexcept {
  const driver::ColumnCursor<Arch, Stage::columns> p(columns.data(), 0);
#if TQ_HAS_SIMD
  if constexpr (!std::is_same_v<Arch, arch::scalar>) {
    constexpr std::size_t block = driver::block<Arch>;
    std::size_t i = 0;
    for (; i + block <= n; i += block) detail::sums_block<Arch>(stage, sums + i, out + i, p, i);
    if (i == n) return;
    alignas(64) std::int32_t from[block] = {};
    alignas(64) Out to[block];
    std::memcpy(from, sums + i, (n - i) * sizeof *from);
    detail::sums_block<Arch>(stage, from, to, p, i);
    std::memcpy(out + i, to, (n - i) * sizeof *to);
    return;
  }
#endif
  for (std::size_t i = 0; i < n; ++i)
    out[i] = static_cast<Out>(stage.template one<Arch>(sums[i], p, i, 0));
}

}  // namespace tq::kernels

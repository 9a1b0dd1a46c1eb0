// SPDX-License-Identifier: MIT
#pragma once
// add_pair_products: products of all columns of two panels of 16-bit numbers, exact, in 64 bits.

#include <tq/arch/batch.hpp>
#include <tq/arch/pair_dot.hpp>
#include <tq/config.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace tq::kernels {

/// Columns of a panel, which lies as [pair of rows][column][row of the pair].
inline constexpr std::size_t pair_columns = 16;
/// Sums of every column of a panel with every column of another.
using PairSums = std::array<std::int64_t, pair_columns * pair_columns>;

namespace detail {

// The same register, which g++ does not move to memory and back.
template <class Dot, class Register>
TQ_FORCE_INLINE Register stays(Register v) noexcept {
#if TQ_HAS_SIMD
  if constexpr (Dot::width > 1) return arch::kept(v);
#endif
  return v;
}

// The sums of a few pairs, which fit 32 bits.
template <class Dot, std::size_t Rows, std::size_t Registers>
TQ_FORCE_INLINE void pair_tile(const std::int16_t* a, const std::int16_t* b, std::size_t pairs,
                               int shift, std::int64_t* out) noexcept {
  constexpr std::size_t width = Dot::width, depth = 2 * pair_columns;
  typename Dot::sums sums[Rows][Registers];
  TQ_UNROLL
  for (std::size_t r = 0; r < Rows; ++r) TQ_UNROLL
  for (std::size_t c = 0; c < Registers; ++c) sums[r][c] = Dot::zero();
  for (std::size_t k = 0; k < pairs; ++k) {
    typename Dot::numbers second[Registers];
    TQ_UNROLL
    for (std::size_t c = 0; c < Registers; ++c) {
      second[c] = Dot::load_numbers(b + k * depth + 2 * c * width);
      second[c] = stays<Dot>(second[c]);  // loaded once
    }
    TQ_UNROLL
    for (std::size_t r = 0; r < Rows; ++r) {
      const typename Dot::numbers first = Dot::splat(a + k * depth + 2 * r);
      TQ_UNROLL
      for (std::size_t c = 0; c < Registers; ++c)
        sums[r][c] = stays<Dot>(Dot::add(sums[r][c], first, second[c]));
    }
  }
  alignas(64) std::int32_t row[Registers * width];
  for (std::size_t r = 0; r < Rows; ++r) {
    TQ_UNROLL
    for (std::size_t c = 0; c < Registers; ++c) Dot::store(row + c * width, sums[r][c]);
    for (std::size_t c = 0; c < Registers * width; ++c)
      out[r * pair_columns + c] += std::int64_t{row[c]} << shift;
  }
}

}  // namespace detail

/// out[i][j] += 2^shift times the sum over all pairs of a[i] * b[j]. Precondition: the sum of
/// `safe` pairs of products fits int32, whatever the signs.
template <class Dot>
TQ_NO_INLINE void add_pair_products(const std::int16_t* a, const std::int16_t* b, std::size_t pairs,
                                    std::size_t safe, int shift, PairSums& out) noexcept {
  constexpr std::size_t registers = std::min<std::size_t>(pair_columns / Dot::width, 4),
                        rows = Dot::width == 16 ? 8 : 4, columns = registers * Dot::width;
  for (std::size_t k = 0; k < pairs; k += safe) {
    const std::size_t some = std::min(safe, pairs - k), at = 2 * pair_columns * k;
    for (std::size_t r = 0; r < pair_columns; r += rows)
      for (std::size_t c = 0; c < pair_columns; c += columns)
        detail::pair_tile<Dot, rows, registers>(a + at + 2 * r, b + at + 2 * c, some, shift,
                                                out.data() + r * pair_columns + c);
  }
}

}  // namespace tq::kernels

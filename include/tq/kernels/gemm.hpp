// SPDX-License-Identifier: MIT
#pragma once
// gemm_tile: a few rows of numbers times a panel of 16 columns of weights. A row has 16-bit
// numbers, one after the other; a panel has 8-bit numbers, the two of every pair of rows beside
// each other: [pair][column][2].

#include <tq/arch/pair_dot.hpp>
#include <tq/config.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tq::kernels {

/// Columns of a panel, for every instruction set, so that packed weights serve all.
inline constexpr std::size_t panel_columns = 16;

/// Pairs whose sum fits 32 bits whatever the numbers are: of [-255, 255] and [-128, 127].
inline constexpr std::size_t safe_pairs = (std::size_t{1} << 31) / (2 * 255 * 128) - 1;

/// Rows that one call takes at most.
template <class Arch>
inline constexpr std::size_t tile_rows = arch::pair_dot<Arch>::rows;

namespace detail {

template <class Arch, std::size_t Rows>
TQ_NO_INLINE void gemm_rows(const std::int16_t* x, std::size_t row, const std::int8_t* panel,
                            std::size_t pairs, std::int32_t* out) noexcept {
  using dot = arch::pair_dot<Arch>;
  // Of one register a row what all columns need is taken at once; of many, one after the other.
  constexpr std::size_t width = dot::width, registers = width == 1 ? 1 : panel_columns / width;
  for (std::size_t from = 0; from < panel_columns; from += registers * width) {
    typename dot::sums sums[Rows][registers];
    TQ_UNROLL
    for (std::size_t r = 0; r < Rows; ++r) TQ_UNROLL
    for (std::size_t c = 0; c < registers; ++c) sums[r][c] = dot::zero();
    for (std::size_t k = 0; k < pairs; ++k) {
      const std::int8_t* b = panel + 2 * (k * panel_columns + from);
      typename dot::pairs weights[registers];
      TQ_UNROLL
      for (std::size_t c = 0; c < registers; ++c) weights[c] = dot::load(b + 2 * c * width);
      TQ_UNROLL
      for (std::size_t r = 0; r < Rows; ++r) {
        const typename dot::pairs a = dot::splat(x + r * row + 2 * k);
        TQ_UNROLL
        for (std::size_t c = 0; c < registers; ++c)
          sums[r][c] = dot::add(sums[r][c], a, weights[c]);
      }
    }
    TQ_UNROLL
    for (std::size_t r = 0; r < Rows; ++r) TQ_UNROLL
    for (std::size_t c = 0; c < registers; ++c)
      dot::store(out + r * panel_columns + from + c * width, sums[r][c]);
  }
}

template <class Arch, std::size_t Rows>
void gemm_some_rows(std::size_t rows, const std::int16_t* x, std::size_t row,
                    const std::int8_t* panel, std::size_t pairs, std::int32_t* out) noexcept {
  if (rows == Rows) return gemm_rows<Arch, Rows>(x, row, panel, pairs, out);
  if constexpr (Rows > 1) gemm_some_rows<Arch, Rows - 1>(rows, x, row, panel, pairs, out);
}

}  // namespace detail

/// out[r][c], dense rows of `panel_columns`: the sum over 2 * `pairs` numbers of row r of x times
/// column c of the panel, modulo 2^32. Row r begins `row` numbers after row r - 1. 1 <= `rows` <=
/// `tile_rows`.
template <class Arch>
void gemm_tile(std::size_t rows, const std::int16_t* x, std::size_t row, const std::int8_t* panel,
               std::size_t pairs, std::int32_t* out) noexcept {
  detail::gemm_some_rows<Arch, arch::pair_dot<Arch>::rows>(rows, x, row, panel, pairs, out);
}

}  // namespace tq::kernels

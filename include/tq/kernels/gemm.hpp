// SPDX-License-Identifier: MIT
#pragma once
// gemm_tile: a few rows of numbers times a panel of weights, in the registers of a dot
// (arch/pair_dot.hpp). A panel has 8-bit weights, those that a lane multiplies at once beside each
// other: [step][column][depth].

#include <tq/arch/byte_dot.hpp>
#include <tq/arch/pair_dot.hpp>
#include <tq/arch/prefetch.hpp>
#include <tq/config.hpp>
#include <tq/driver/gemm_tuning.hpp>
#include <tq/kernels/gemv.hpp>
#include <tq/kernels/panel_layout.hpp>
#include <tq/kernels/row_strip.hpp>

#include <cstddef>
#include <cstdint>

namespace tq::kernels {

/// Steps of pairs whose sum fits 32 bits whatever the numbers are: of [-reach, reach] and
/// [-128, 127].
[[nodiscard]] constexpr std::size_t safe_pairs(std::size_t reach) noexcept {
  return (std::size_t{1} << 31) / (2 * reach * 128) - 1;
}

namespace detail {

template <class Dot, std::size_t Rows>
TQ_NO_INLINE void gemm_rows(TileRows<const typename Dot::number> x, const std::int8_t* panel,
                            std::size_t steps, TileRows<std::int32_t> out, Start start) noexcept {
  // A dot of width 1 takes the columns one after the other; wider dots take all columns at once.
  using Strip = RowStrip<Dot, Rows>;
  using dot = typename Strip::dot;
  constexpr std::size_t width = Dot::width, columns = Dot::columns, depth = Dot::depth,
                        strips = Strip::count, registers = width == 1 ? 1 : columns / width;
  for (std::size_t from = 0; from < columns; from += registers * width) {
    typename dot::sums sums[strips][registers];
    TQ_UNROLL
    for (std::size_t s = 0; s < strips; ++s) TQ_UNROLL
    for (std::size_t c = 0; c < registers; ++c)
      sums[s][c] = start == Start::zero ? dot::zero() : Strip::read(out, s, from + c * width);
    for (std::size_t k = 0; k < steps; ++k) {
      const std::int8_t* b = panel + depth * (k * columns + from);
      typename dot::numbers weights[registers];
      TQ_UNROLL
      for (std::size_t c = 0; c < registers; ++c) {
        weights[c] = dot::load(b + depth * c * width);
        // Few rows wait for their weights.
        if constexpr (Rows < Dot::rows && depth * width == cache_line)
          arch::prefetch(b + depth * c * width, driver::gemv_bytes_ahead);
      }
      TQ_UNROLL
      for (std::size_t s = 0; s < strips; ++s) {
        const typename dot::numbers a = Strip::splat(x, s, depth * k);
        TQ_UNROLL
        for (std::size_t c = 0; c < registers; ++c)
          sums[s][c] = dot::add(sums[s][c], a, weights[c]);
      }
    }
    TQ_UNROLL
    for (std::size_t s = 0; s < strips; ++s) TQ_UNROLL
    for (std::size_t c = 0; c < registers; ++c) Strip::store(out, s, from + c * width, sums[s][c]);
  }
}

template <class Dot, std::size_t Rows>
void gemm_some_rows(std::size_t rows, TileRows<const typename Dot::number> x,
                    const std::int8_t* panel, std::size_t steps, TileRows<std::int32_t> out,
                    Start start) noexcept {
  if constexpr (Rows == 1) gemv<Dot>(x.first, panel, steps, out.first, start);
  else if (rows == Rows) gemm_rows<Dot, Rows>(x, panel, steps, out, start);
  else gemm_some_rows<Dot, Rows - 1>(rows, x, panel, steps, out, start);
}

}  // namespace detail

/// out[r][c], of `Dot::columns`: the sum over `steps` times `Dot::depth` numbers of row r of x
/// times column c of the panel, and of what was there if asked, modulo 2^32. 1 <= `rows` <=
/// `Dot::rows`.
template <class Dot>
void gemm_tile(std::size_t rows, TileRows<const typename Dot::number> x, const std::int8_t* panel,
               std::size_t steps, TileRows<std::int32_t> out, Start start = Start::zero) noexcept {
  detail::gemm_some_rows<Dot, Dot::rows>(rows, x, panel, steps, out, start);
}

}  // namespace tq::kernels

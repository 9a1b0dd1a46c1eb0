// SPDX-License-Identifier: MIT
#pragma once
// RowStrip: the rows of a tile that one instruction of a dot multiplies: one, or two where the dot
// has `two_rows` (arch/byte_dot.hpp). Of an odd number of rows the last one is taken twice.

#include <tq/config.hpp>

#include <cstddef>
#include <cstdint>

namespace tq::kernels {

/// Rows beside each other: row r begins r times `stride` after the first.
template <class T>
struct TileRows {
  T* first;
  std::ptrdiff_t stride;
  [[nodiscard]] T* operator[](std::size_t r) const noexcept {
    return first + static_cast<std::ptrdiff_t>(r) * stride;
  }
};

/// A dot that multiplies two rows at once.
template <class Dot>
concept TwoRowDot = requires { typename Dot::two_rows; };

/// Strip number `s` of a tile of `Rows` rows.
template <class Dot, std::size_t Rows>
struct RowStrip {
  using dot = Dot;
  using number = typename Dot::number;
  static constexpr std::size_t count = Rows;
  static TQ_FORCE_INLINE typename dot::sums read(TileRows<std::int32_t> rows, std::size_t s,
                                                 std::size_t column) noexcept {
    return dot::read(rows[s] + column);
  }
  static TQ_FORCE_INLINE typename dot::numbers splat(TileRows<const number> rows, std::size_t s,
                                                     std::size_t at) noexcept {
    return dot::splat(rows[s] + at);
  }
  static TQ_FORCE_INLINE void store(TileRows<std::int32_t> rows, std::size_t s, std::size_t column,
                                    typename dot::sums sums) noexcept {
    dot::store(rows[s] + column, sums);
  }
};

template <TwoRowDot Dot, std::size_t Rows>
struct RowStrip<Dot, Rows> {
  using dot = typename Dot::two_rows;
  using number = typename Dot::number;
  static constexpr std::size_t count = (Rows + 1) / 2;
  static TQ_FORCE_INLINE typename dot::sums read(TileRows<std::int32_t> rows, std::size_t s,
                                                 std::size_t column) noexcept {
    return dot::read(rows[2 * s] + column, rows[second(s)] + column);
  }
  static TQ_FORCE_INLINE typename dot::numbers splat(TileRows<const number> rows, std::size_t s,
                                                     std::size_t at) noexcept {
    return dot::splat(rows[2 * s] + at, rows[second(s)] + at);
  }
  static TQ_FORCE_INLINE void store(TileRows<std::int32_t> rows, std::size_t s, std::size_t column,
                                    typename dot::sums sums) noexcept {
    dot::store(rows[2 * s] + column, rows[second(s)] + column, sums);
  }

 private:
  static constexpr std::size_t second(std::size_t s) noexcept {
    return 2 * s + 1 < Rows ? 2 * s + 1 : 2 * s;
  }
};

}  // namespace tq::kernels

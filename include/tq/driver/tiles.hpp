// SPDX-License-Identifier: MIT
#pragma once
// Tiles: pieces of a tensor whose neighbours in the target are none in the source, or are packed,
// copied side by side. No kernel knows of it.

#include <tq/arch/prefetch.hpp>
#include <tq/arch/transpose_tile.hpp>
#include <tq/driver/span.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tq::driver {

/// A tile has at most `capacity` elements, in rows that begin `pitch` elements apart.
template <class Arch>
struct tiles {
  static constexpr std::size_t side = 64, capacity = side * side;

  /// Calls f(n) for n of the type that has `bytes` bytes: 1, 2, 4 or 8.
  template <class F>
  static void with_size(std::size_t bytes, F&& f) noexcept {
    if (bytes == 1) f(std::uint8_t{});
    else if (bytes == 2) f(std::uint16_t{});
    else if (bytes == 4) f(std::uint32_t{});
    else f(std::uint64_t{});
  }

  /// Element (r, i) of `rows` x `columns`, which lies r * row + i * column elements from `from`, to
  /// to[r * pitch + i].
  template <class T>
  static TQ_NO_INLINE void gather(const T* from, std::ptrdiff_t row, std::ptrdiff_t column,
                                  std::size_t rows, std::size_t columns, T* to,
                                  std::size_t pitch) noexcept {
    if (column == 1) {
      for (std::size_t r = 0; r < rows; ++r)
        std::memcpy(to + r * pitch, from + static_cast<std::ptrdiff_t>(r) * row,
                    columns * sizeof(T));
      return;
    }
    for (std::size_t k = columns; k < 2 * columns; ++k)  // of the next tile
      arch::prefetch(
          from, static_cast<std::ptrdiff_t>(k) * column * static_cast<std::ptrdiff_t>(sizeof(T)));
    std::size_t i = 0;
#if TQ_HAS_SIMD
    constexpr std::size_t square = arch::square_side<Arch, sizeof(T)>;
    if constexpr (square != 0)
      if (row == 1)
        for (; i + square <= columns; i += square) {  // lines of the source are used whole
          std::size_t r = 0;
          for (; r + square <= rows; r += square)
            arch::turn_square<Arch>(at(from, r, 1, i, column), column, to + r * pitch + i,
                                    static_cast<std::ptrdiff_t>(pitch));
          if (r < rows)
            copy(at(from, r, row, i, column), row, column, rows - r, square, to + r * pitch + i,
                 pitch);
        }
#endif
    if (i < columns)
      copy(at(from, 0, row, i, column), row, column, rows, columns - i, to + i, pitch);
  }

  /// The other way: to[r * row + i * column] of from[r * pitch + i].
  template <class T>
  static TQ_NO_INLINE void scatter(const T* from, std::size_t pitch, std::size_t rows,
                                   std::size_t columns, T* to, std::ptrdiff_t row,
                                   std::ptrdiff_t column) noexcept {
    for (std::size_t r = 0; r < rows; ++r) {
      T* at = to + static_cast<std::ptrdiff_t>(r) * row;
      for (std::size_t i = 0; i < columns; ++i)
        at[static_cast<std::ptrdiff_t>(i) * column] = from[r * pitch + i];
    }
  }

 private:
  template <class T>
  static const T* at(const T* from, std::size_t r, std::ptrdiff_t row, std::size_t i,
                     std::ptrdiff_t column) noexcept {
    return from + static_cast<std::ptrdiff_t>(r) * row + static_cast<std::ptrdiff_t>(i) * column;
  }
  // One by one.
  template <class T>
  static void copy(const T* from, std::ptrdiff_t row, std::ptrdiff_t column, std::size_t rows,
                   std::size_t columns, T* to, std::size_t pitch) noexcept {
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t i = 0; i < columns; ++i) to[r * pitch + i] = *at(from, r, row, i, column);
  }
};

}  // namespace tq::driver

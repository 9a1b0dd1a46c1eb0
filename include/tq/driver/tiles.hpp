// SPDX-License-Identifier: MIT
#pragma once
// Tiles: pieces of a tensor whose neighbours in the target are none in the source, or are packed,
// copied side by side. No kernel knows of it.

#include <tq/arch/cpu.hpp>
#include <tq/arch/prefetch.hpp>
#include <tq/arch/transpose_tile.hpp>
#include <tq/driver/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tq::driver {

/// A tile has at most `capacity` elements, in rows that begin `pitch` elements apart.
template <class Arch>
struct tiles {
  static constexpr std::size_t side = 64, capacity = side * side;
  static constexpr std::size_t strip = 16;  ///< columns that are asked for together

  /// Calls f(n) for n of the type that has `bytes` bytes: 1, 2, 4 or 8.
  template <class F>
  static void with_size(std::size_t bytes, F&& f) noexcept {
    if (bytes == 1) f(std::uint8_t{});
    else if (bytes == 2) f(std::uint16_t{});
    else if (bytes == 4) f(std::uint32_t{});
    else f(std::uint64_t{});
  }

  /// Element (r, i) of `rows` x `columns`, which lies r * row + i * column elements from `from`, to
  /// to[r * pitch + i]. Asks for the next columns, as many.
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
    copy(from, row, column, rows, columns, to, pitch);
  }

  /// The same without asking for anything. Lines of the source are used whole.
  template <class T>
  static TQ_NO_INLINE void copy(const T* from, std::ptrdiff_t row, std::ptrdiff_t column,
                                std::size_t rows, std::size_t columns, T* to,
                                std::size_t pitch) noexcept {
#if TQ_HAS_SIMD
    constexpr std::size_t square = arch::square_side<Arch, sizeof(T)>;
    if constexpr (square != 0)
      if (row == 1 && rows >= square && columns >= square) {
        if (pitch == side) return turn(from, column, rows, columns, to, usual_pitch{});
        return turn(from, column, rows, columns, to, pitch);
      }
#endif
    for (std::size_t c = 0; c < columns; c += strip)
      for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t i = c; i < std::min(c + strip, columns); ++i)
          to[r * pitch + i] = *at(from, r, row, i, column);
  }

  /// The same from memory, where columns lie side by side: by strips, before which the lines of the
  /// strip behind them are asked for. One that only the first cache has room for would be lost, as
  /// columns that are a power of two apart share few places there.
  template <class T>
  static TQ_NO_INLINE void gather_ahead(const T* from, std::ptrdiff_t column, std::size_t rows,
                                        std::size_t columns, T* to, std::size_t pitch) noexcept {
    for (std::size_t i = 0; i < columns; i += strip) {
      const T* const first = at(from, 0, 1, i, column);
      for (std::size_t k = strip; k < 2 * strip; ++k)
        ask(first, static_cast<std::ptrdiff_t>(k * sizeof(T)) * column, rows * sizeof(T));
      copy(first, 1, column, rows, std::min(strip, columns - i), to + i, pitch);
    }
  }

  /// Asks for the lines of some bytes, `offset` bytes from p, which need not exist.
  static void ask(const void* p, std::ptrdiff_t offset, std::size_t bytes) noexcept {
    for (std::size_t b = 0; b < bytes; b += arch::line_bytes)
      arch::prefetch_outer(p, offset + static_cast<std::ptrdiff_t>(b));
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
  using usual_pitch = std::integral_constant<std::size_t, side>;  // places of rows are immediates

#if TQ_HAS_SIMD
  // By squares, of which the last ones do some elements again.
  template <class T, class Pitch>
  static TQ_FORCE_INLINE void turn(const T* from, std::ptrdiff_t column, std::size_t rows,
                                   std::size_t columns, T* to, Pitch pitch) noexcept {
    constexpr std::size_t square = arch::square_side<Arch, sizeof(T)>;
    const auto apart = static_cast<std::ptrdiff_t>(std::size_t{pitch});
    for (std::size_t c = 0; c < columns; c += square) {
      const std::size_t i = std::min(c, columns - square);
      const T *const begin = at(from, 0, 1, i, column), *first = begin;
      T* out = to + i;
      for (std::size_t k = rows / square; k != 0; --k, first += square, out += square * pitch)
        arch::turn_square<Arch>(first, column, out, apart);
      if (rows % square != 0)
        arch::turn_square<Arch>(begin + (rows - square), column, to + (rows - square) * pitch + i,
                                apart);
    }
  }
#endif

  template <class T>
  static const T* at(const T* from, std::size_t r, std::ptrdiff_t row, std::size_t i,
                     std::ptrdiff_t column) noexcept {
    return from + static_cast<std::ptrdiff_t>(r) * row + static_cast<std::ptrdiff_t>(i) * column;
  }
};

}  // namespace tq::driver

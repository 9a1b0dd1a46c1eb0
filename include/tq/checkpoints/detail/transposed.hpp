// SPDX-License-Identifier: MIT
#pragma once
// Matrices with their rows as columns.

#include <tq/layouts/detail/bit_fields.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace tq::detail {

// Writes [rows, columns] to [columns, rows], where row r becomes column to(r). A tile stays in the
// cache.
template <class T, class To = std::identity>
void transpose(std::span<const T> x, std::size_t rows, std::size_t columns, std::span<T> out,
               To&& to = {}) {
  constexpr std::size_t tile = 64;
  for (std::size_t r0 = 0; r0 < rows; r0 += tile)
    for (std::size_t c0 = 0; c0 < columns; c0 += tile)
      for (std::size_t c = c0; c < std::min(c0 + tile, columns); ++c)
        for (std::size_t r = r0; r < std::min(r0 + tile, rows); ++r)
          out[c * rows + to(r)] = x[r * columns + c];
}

// The same of a whole matrix. Throws: errc::shape_mismatch for another number of elements.
template <class T, class To = std::identity>
[[nodiscard]] std::vector<T> transposed(const char* what, const std::vector<T>& x, std::size_t rows,
                                        std::size_t columns, To&& to = {}) {
  require_count("tq::io::load_checkpoint", what, rows * columns, x.size());
  std::vector<T> out(x.size());
  transpose(std::span<const T>(x), rows, columns, std::span<T>(out), std::forward<To>(to));
  return out;
}

}  // namespace tq::detail

// SPDX-License-Identifier: MIT
#pragma once
// How one-byte block scales lie in memory: in rows, or in the tiles that NVIDIA's matrix products
// read.

#include <tq/core/detail/require_parameters.hpp>
#include <tq/core/detail/sizes.hpp>
#include <tq/core/shape.hpp>
#include <tq/error.hpp>
#include <tq/layouts/detail/bit_fields.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tq {

/// Scale [r, c] is byte r * columns + c: the layout of checkpoints.
struct ScaleRows {
  [[nodiscard]] static constexpr std::size_t bytes_for(std::size_t rows,
                                                       std::size_t columns) noexcept {
    return detail::product_or_most(rows, columns);
  }
  [[nodiscard]] static constexpr std::size_t offset(std::size_t r, std::size_t c,
                                                    std::size_t columns) noexcept {
    return r * columns + c;
  }
};

/// Tiles of 128 rows and 4 columns, 512 bytes each, row by row; rows and columns are filled up to
/// whole tiles with zeros. Scale [r, c] is, in tile [r / 128, c / 4], byte
/// r % 32 * 16 + r % 128 / 32 * 4 + c % 4.
/// Source: NVIDIA cuBLAS, "1D Block Scaling Factors Layout"; torchao,
/// torchao/prototype/mx_formats/utils.py (to_blocked).
struct ScaleTiles {
  [[nodiscard]] static constexpr std::size_t bytes_for(std::size_t rows,
                                                       std::size_t columns) noexcept {
    return detail::product_or_most(
        detail::product_or_most(detail::units_for(rows, 128), detail::units_for(columns, 4)), 512);
  }
  [[nodiscard]] static constexpr std::size_t offset(std::size_t r, std::size_t c,
                                                    std::size_t columns) noexcept {
    return (r / 128 * detail::blocks_along(columns, 4) + c / 4) * 512 + r % 32 * 16 +
           r % 128 / 32 * 4 + c % 4;
  }
};

/// Where the bytes of a matrix of scales are. Smallest model:
///
///     struct ScaleColumns {  // column after column, of at most 64 rows
///       static std::size_t bytes_for(std::size_t, std::size_t columns) { return 64 * columns; }
///       static std::size_t offset(std::size_t r, std::size_t c, std::size_t) { return 64 * c + r;
///       }
///     };
template <class L>
concept ScaleLayout = requires(std::size_t n) {
  { L::bytes_for(n, n) } -> std::same_as<std::size_t>;
  { L::offset(n, n, n) } -> std::same_as<std::size_t>;
};

namespace detail {
template <ScaleLayout L>
void require_scales(const char* function, std::size_t rows, std::size_t columns, std::size_t scales,
                    std::size_t bytes) {
  require_count(function, "scales", require_product(function, "rows and columns", rows, columns),
                scales);
  require_count(function, "bytes of scales", L::bytes_for(rows, columns), bytes);
}

// Tiles of scales are those of one matrix.
template <ScaleLayout L>
void require_matrix(const char* function, const Shape& shape) {
  if (!std::same_as<L, ScaleRows> && shape.rank() > 2)
    raise_expected(errc::unsupported, function,
                   {"a rank of at most 2, for scales in tiles are those of one matrix"},
                   {"shape ", shape.extents()});
}
}  // namespace detail

/// Reads `scales` [rows, columns] from the bytes of a layout; padding is ignored.
/// Throws: `errc::shape_mismatch` for spans of other sizes; `errc::bad_argument` for extents whose
/// product overflows. Nothing is written then.
template <ScaleLayout L>
void load_scales(std::size_t rows, std::size_t columns, std::span<const std::uint8_t> bytes,
                 std::span<std::uint8_t> scales) {
  detail::require_scales<L>("tq::load_scales", rows, columns, scales.size(), bytes.size());
  if (columns == 0) return;  // of any number of rows
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < columns; ++c)
      scales[r * columns + c] = bytes[L::offset(r, c, columns)];
}

/// Writes the bytes of a layout from `scales` [rows, columns]; padding becomes zero.
/// Throws: as `load_scales`.
template <ScaleLayout L>
void store_scales(std::size_t rows, std::size_t columns, std::span<const std::uint8_t> scales,
                  std::span<std::uint8_t> bytes) {
  detail::require_scales<L>("tq::store_scales", rows, columns, scales.size(), bytes.size());
  std::fill(bytes.begin(), bytes.end(), std::uint8_t{0});
  if (columns == 0) return;
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < columns; ++c)
      bytes[L::offset(r, c, columns)] = scales[r * columns + c];
}

}  // namespace tq

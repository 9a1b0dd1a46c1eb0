// SPDX-License-Identifier: MIT
#pragma once
// Scales of blocks in any number of dimensions, as checkpoints of small floats have them.

#include <tq/core/shape.hpp>
#include <tq/error.hpp>
#include <tq/layouts/detail/bit_fields.hpp>
#include <tq/numeric/exponent_format.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace tq {

/// The blocks of a tensor with one scale each: block extents, one per axis. [128, 128] is the grid
/// of DeepSeek's FP8 weights, [1, K] has a scale per row, [N, K] one for all. Blocks at the end of
/// an axis may be shorter; scales are row-major over the grid.
struct ScaleGrid {
  std::vector<std::size_t> block;

  /// The number of scales along each axis. Precondition: as many axes, blocks of at least 1.
  [[nodiscard]] std::vector<std::size_t> extents(const Shape& shape) const {
    std::vector<std::size_t> out(block.size());
    for (std::size_t a = 0; a < block.size(); ++a)
      out[a] = detail::blocks_along(shape[static_cast<int>(a)], block[a]);
    return out;
  }
};

/// Multiplies every value by the scale of its block, rounded once.
/// Throws: `errc::shape_mismatch` for spans of other sizes or another number of axes;
/// `errc::bad_group_size` for a block of 0; `errc::bad_scale` for scales that are negative or not
/// finite; `errc::bad_argument` for extents whose product overflows. Nothing is written then.
inline void multiply_by_blocks(std::span<float> values, const Shape& shape, const ScaleGrid& grid,
                               std::span<const float> scales) {
  constexpr const char* function = "tq::multiply_by_blocks";
  const auto rank = static_cast<std::size_t>(shape.rank());
  detail::require_count(function, "block extents", rank, grid.block.size());
  for (const std::size_t b : grid.block)
    if (b == 0)
      detail::raise_expected(errc::bad_group_size, function, {"blocks of at least 1"}, {0});
  const std::vector<std::size_t> extents = grid.extents(shape);
  std::size_t count = 1;
  for (const std::size_t e : extents) count = detail::require_product(function, "scales", count, e);
  detail::require_count(function, "values", detail::require_extents(function, shape),
                        values.size());
  detail::require_count(function, "scales", count, scales.size());
  for (std::size_t i = 0; i < scales.size(); ++i)
    if (!(scales[i] >= 0) || !detail::is_finite(scales[i]))
      detail::raise_expected(errc::bad_scale, function, {"finite scales that are not negative"},
                             {scales[i], " for block ", i});
  if (values.empty()) return;
  const std::size_t length = rank == 0 ? 1 : shape[shape.rank() - 1];
  const std::size_t block = rank == 0 ? 1 : grid.block.back(), row = rank == 0 ? 1 : extents.back();
  for (std::size_t line = 0; line * length < values.size(); ++line) {
    std::size_t first = 0, rest = line, stride = 1;  // the first scale of the line
    for (std::size_t a = rank; a-- > 1;) {
      const std::size_t extent = shape[static_cast<int>(a - 1)];
      first += rest % extent / grid.block[a - 1] * stride;
      stride *= extents[a - 1];
      rest /= extent;
    }
    for (std::size_t i = 0; i < length; ++i)
      values[line * length + i] *= scales[first * row + i / block];
  }
}

}  // namespace tq

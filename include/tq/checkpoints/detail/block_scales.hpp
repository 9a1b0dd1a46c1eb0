// SPDX-License-Identifier: MIT
#pragma once
// Scales of blocks in any number of dimensions as parameters of an encoded tensor.

#include <tq/core/detail/sizes.hpp>
#include <tq/core/granularity.hpp>
#include <tq/core/shape.hpp>
#include <tq/error.hpp>
#include <tq/layouts/detail/bit_fields.hpp>
#include <tq/scheme/quant_spec.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace tq::detail {

// Throws unless `block` has as many extents as the shape, each at least 1.
inline void require_blocks(const Shape& shape, std::span<const std::size_t> block) {
  constexpr const char* function = "tq::io::load_checkpoint";
  require_count(function, "block extents", static_cast<std::size_t>(shape.rank()), block.size());
  for (std::size_t a = 0; a < block.size(); ++a) {
    const std::size_t b = std::min(block[a], std::max(shape[static_cast<int>(a)], std::size_t{1}));
    if (b == 0 || b > std::size_t{std::numeric_limits<int>::max()})
      raise_expected(errc::bad_group_size, function,
                     {"blocks from 1 to ", std::numeric_limits<int>::max()}, {b});
  }
}

// Makes the granularity one parameter for all, or one for each block of the last two axes.
inline void set_blocks(QuantSpec& spec, const Shape& shape, std::span<const std::size_t> block,
                       bool is_one) {
  spec.granularity = PerTensor::name;
  if (is_one) return;
  require_blocks(shape, block);
  const auto size = [&](std::size_t axis) {
    const std::size_t extent = std::max(shape[static_cast<int>(axis)], std::size_t{1});
    return static_cast<int>(std::min(block[axis], extent));
  };
  const std::size_t last = block.size() - 1;
  if (last == 0 || size(last - 1) == 1) {
    spec.granularity = PerGroup<>::name;
    spec.group_size = size(last);
  } else {
    spec.granularity = PerBlock<>::name;
    spec.block_rows = size(last - 1);
    spec.block_cols = size(last);
  }
  if (last == 1 && block[1] >= shape[1] && size(0) == 1) spec.granularity = PerChannel<>::name;
}

// The scales of `block` extents, of which those of axes before the last two are repeated until each
// matrix has its own. Throws: `errc::shape_mismatch` for another number of them.
template <class T>
[[nodiscard]] std::vector<T> scales_of_rows(const Shape& shape, std::span<const std::size_t> block,
                                            const std::vector<T>& scales) {
  if (scales.size() == 1) return scales;
  require_blocks(shape, block);
  const std::size_t axes = block.size(), leading = axes - std::min(axes, std::size_t{2});
  std::size_t inner = 1, count = 1, matrices = 1;
  std::vector<std::size_t> grid(axes);
  for (std::size_t a = 0; a < axes; ++a) {
    const std::size_t extent = shape[static_cast<int>(a)];
    grid[a] = blocks_along(extent, block[a]);
    count = product_or_most(count, grid[a]);
    if (a < leading) matrices = product_or_most(matrices, extent);
    else inner = product_or_most(inner, grid[a]);
  }
  require_count("tq::io::load_checkpoint", "scales", count, scales.size());
  std::vector<T> out;
  if (count == 0) return out;  // of any number of matrices
  out.reserve(matrices * inner);
  for (std::size_t m = 0; m < matrices; ++m) {
    std::size_t first = 0, rest = m, stride = 1;
    for (std::size_t a = leading; a-- > 0;) {
      const std::size_t extent = shape[static_cast<int>(a)];
      first += rest % extent / block[a] * stride;
      stride *= grid[a];
      rest /= extent;
    }
    const auto begin = scales.begin() + static_cast<std::ptrdiff_t>(first * inner);
    out.insert(out.end(), begin, begin + static_cast<std::ptrdiff_t>(inner));
  }
  return out;
}

}  // namespace tq::detail

// SPDX-License-Identifier: MIT
#pragma once
// slot_sizes: how many elements of a tensor share each parameter.

#include <tq/core/detail/run.hpp>
#include <tq/core/granularity.hpp>
#include <tq/core/shape.hpp>

#include <cstddef>
#include <vector>

namespace tq::detail {

/// Elements per slot: all the same, unless blocks are cut short at an end.
template <class Granularity>
[[nodiscard]] std::vector<std::size_t> slot_sizes(const Granularity& granularity,
                                                  const Shape& shape, std::size_t slot_count) {
  const Shape block = granularity.block(shape);
  bool ragged = false;
  for (int axis = 0; axis < shape.rank(); ++axis) ragged = ragged || shape[axis] % block[axis] != 0;
  if (!ragged) return std::vector<std::size_t>(slot_count, shape.size() / slot_count);
  std::vector<std::size_t> sizes(slot_count, 0);
  const Strides strides = row_major_strides(shape);
  for_each_run(shape, block, strides, strides, [&](const Run& r) {
    for (std::size_t k = 0; k < r.count; ++k)
      for (std::size_t i = 0; i < (r.step != 0 ? r.length : 1); ++i)
        sizes[r.param + k * r.param_stride + i] += r.step != 0 ? 1 : r.length;
  });
  return sizes;
}

}  // namespace tq::detail

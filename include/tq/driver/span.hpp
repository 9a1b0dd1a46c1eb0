// SPDX-License-Identifier: MIT
#pragma once
// The elements that a sweep goes over, and their parameters: plain numbers, known at run time
// only.

#include <tq/config.hpp>

#include <cstddef>
#include <cstdint>

namespace tq::driver {

/// `count` rows of `length` elements. Rows begin `source_stride` (`target_stride`) elements apart,
/// and neighbours in a row lie `source_step` (`target_step`) apart.
struct Span {
  std::size_t length = 0, count = 1;
  std::ptrdiff_t source_stride = 0, target_stride = 0, source_step = 1, target_step = 1;

  [[nodiscard]] constexpr bool has_neighbours() const noexcept {
    return source_step == 1 && target_step == 1;
  }
};

/// Numbers as they are stored. `read` gives n of them, `stride` apart from number `first` on:
/// scales as float, zero points as int32, minimums as the bits of float.
struct Plane {
  using Read = void (*)(const void* data, std::size_t first, std::size_t n, std::size_t stride,
                        void* out) noexcept;
  const void* data = nullptr;
  Read read = nullptr;

  [[nodiscard]] constexpr bool exists() const noexcept { return read != nullptr; }
};

inline constexpr std::size_t whole_row = ~std::size_t{0};

struct Columns;

/// Element i of row r has parameter first + r * row_step + i / group * step, with `group` at
/// least 1: a scale, and an origin, which is a zero point or the bits of a minimum, as the stage
/// takes it.
struct Parameters {
  Plane scales{}, origins{};
  std::size_t first = 0, row_step = 0, group = whole_row, step = 1;
  const Columns* columns = nullptr;  ///< those of a stage that names some, which reads nothing else
};

}  // namespace tq::driver

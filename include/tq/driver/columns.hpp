// SPDX-License-Identifier: MIT
#pragma once
// Columns: numbers that a stage reads, each with a map of its own.

#include <tq/driver/span.hpp>

#include <cstddef>

namespace tq::driver {

/// Numbers of 32 bits: element i of row r has number first + r * row_step + i / group * step, with
/// `group` at least 1. Where there is no plane, all are 0.
struct Column {
  /// Numbers that loops may read behind the last one of those that lie ready.
  static constexpr std::size_t padding = 128;

  Plane numbers{};
  std::size_t first = 0, row_step = 0, group = whole_row, step = 1;
  /// Whether they are 32 bits in memory, with `padding` more behind them. Then those of neighbours
  /// that are neighbours are read where they lie, and no call copies them.
  bool lie_ready = false;
};

/// The columns of a stage, in the order in which it names them, and the row and the element of
/// their maps that a span begins with.
struct Columns {
  const Column* all = nullptr;
  std::size_t row = 0, element = 0;
};

}  // namespace tq::driver

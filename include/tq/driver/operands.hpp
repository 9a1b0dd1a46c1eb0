// SPDX-License-Identifier: MIT
#pragma once
// Operands of a sweep: the memory that it reads and writes.

#include <tq/config.hpp>

#include <cstddef>
#include <cstdint>

namespace tq::driver {

/// The source of a sweep, read from its element `first` on, and its target. `draw_index`: the draw
/// index of the first element written; later elements add their distance from it.
struct Operands {
  const void* source = nullptr;
  std::ptrdiff_t first = 0;
  void* target = nullptr;
  std::uint64_t draw_index = 0;
  bool streams = false;  ///< past the cache
};

}  // namespace tq::driver

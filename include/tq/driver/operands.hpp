// SPDX-License-Identifier: MIT
#pragma once
// Operands of a sweep: the memory that it reads and writes.

#include <tq/config.hpp>

#include <cstddef>
#include <cstdint>

namespace tq::driver {

/// What a sweep reads, from its element `first` on, and what it writes. `draw_index`: what
/// the first element written draws by; the others add their distance from it.
struct Operands {
  const void* source = nullptr;
  std::ptrdiff_t first = 0;
  void* target = nullptr;
  std::uint64_t draw_index = 0;
  bool streams = false;  ///< past the cache
};

}  // namespace tq::driver

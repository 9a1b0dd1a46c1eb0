// SPDX-License-Identifier: MIT
#pragma once
// Operands of a sweep: the memory that it reads and writes.

#include <tq/config.hpp>

#include <cstddef>
#include <cstdint>

namespace tq::driver {

/// What a sweep reads, from its element `first` on, and what it writes. `place`: that of the first
/// element written, which draws depend on; the others have theirs by their distance from it.
struct Operands {
  const void* source = nullptr;
  std::ptrdiff_t first = 0;
  void* target = nullptr;
  std::uint64_t place = 0;
  bool streams = false;  ///< past the cache
};

}  // namespace tq::driver

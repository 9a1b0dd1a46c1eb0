// SPDX-License-Identifier: MIT
#pragma once
// The counts of a histogram's bins.

#include <tq/core/symmetry.hpp>

#include <cstdint>
#include <vector>

namespace tq {

/// How often values were seen, in bins of equal width: bin i lies between origin + i * width and
/// origin + (i + 1) * width, and all values between the ends of `range`.
struct BinCounts {
  std::vector<std::uint64_t> counts;
  double origin = 0, width = 1;
  Range range{0, 0};
};

}  // namespace tq

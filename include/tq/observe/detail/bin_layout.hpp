// SPDX-License-Identifier: MIT
#pragma once
// Which bins of a histogram a range of values has.

#include <tq/core/symmetry.hpp>
#include <tq/kernels/bins.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace tq::detail {

// How often bins are doubled from one exponent to another, as far as it makes a difference to an
// index.
[[nodiscard]] constexpr int doublings(std::int32_t from, std::int32_t to) noexcept {
  return std::min(to - from, 31);
}

/// Bins of width 2^exponent, numbered as `kernels::Bins` says, from that of the smallest to that of
/// the largest value.
struct BinLayout {
  std::int32_t exponent, first, last;

  /// The finest for which `most` are enough, and of which an index has 24 bits.
  [[nodiscard]] static BinLayout of(Range r, std::size_t most) noexcept {
    const float top = std::max(-r.min, r.max);
    std::int32_t exponent = top == 0.0f ? -149 : std::max(-149, std::ilogb(top) - 23);
    std::int32_t first = kernels::bin_index(r.min, exponent),
                 last = kernels::bin_index(r.max, exponent);
    for (; last - first >= static_cast<std::int32_t>(most); ++exponent) {
      first >>= 1;
      last >>= 1;
    }
    return {exponent, first, last};
  }
  [[nodiscard]] std::size_t size() const noexcept {
    return static_cast<std::size_t>(last - first) + 1;
  }
};

}  // namespace tq::detail

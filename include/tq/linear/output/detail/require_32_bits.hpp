// SPDX-License-Identifier: MIT
#pragma once
// require_32_bits: sums of products are held in 32 bits.

#include <tq/error.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace tq::detail {

// Throws where a sum of `w`, PackedWeights or PackedFilters, and its bias (none, or one for each
// output), might leave 32 bits.
template <class Weights>
void require_32_bits(const char* function, const Weights& w, std::span<const std::int32_t> bias) {
  for (std::size_t n = 0; n < w.outputs(); ++n) {
    const std::int64_t b = bias.empty() ? 0 : bias[n], most = 255 * w.reach(n) + (b < 0 ? -b : b);
    if (most > std::numeric_limits<std::int32_t>::max())
      raise_text(errc::bad_argument, {function, ": expected sums of 32 bits, but those of output ",
                                      n, " reach ", most, ", with a bias of ", b});
  }
}

}  // namespace tq::detail

// SPDX-License-Identifier: MIT
#pragma once
// The state of a histogram, as it is stored and sent, and its validity.

#include <tq/bodies.hpp>
#include <tq/error.hpp>
#include <tq/observe/detail/outlier_counts.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tq {

/// The seen values, in as few numbers as possible; all zero and no counts if there was no finite
/// value. `values` and `zeros` were not recorded in earlier versions: without them all values are
/// in bins, and none is known to be 0.
struct HistogramState {
  std::int32_t exponent = 0;          ///< bins are 2^exponent wide
  std::int64_t first = 0;             ///< index of the bin of `min`
  std::vector<std::uint64_t> counts;  ///< from the bin of `min` to that of `max`
  float min = 0, max = 0;             ///< of values in bins
  std::uint64_t nan = 0, infinite = 0;
  std::uint64_t zeros = 0;              ///< of values in bins
  std::vector<ValueCount> values = {};  ///< values in no bin, in ascending order
  friend bool operator==(const HistogramState&, const HistogramState&) = default;
};

namespace detail {

TQ_CORE_API void check_values(const HistogramState& s, std::size_t most_apart, bool absolute);

/// For a histogram of so many bins and at most so many values apart, `absolute` of magnitudes.
/// Throws: `errc::malformed` when no values give this state.
TQ_CORE_API void check_state(const HistogramState& s, std::size_t bins, std::size_t most_apart,
                             bool absolute);

}  // namespace detail
}  // namespace tq

#ifndef TQ_KERNEL_LIBRARY
#include <tq/observe/detail/histogram_state.ipp>
#endif

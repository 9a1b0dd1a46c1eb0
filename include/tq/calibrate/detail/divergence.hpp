// SPDX-License-Identifier: MIT
#pragma once
// How far a clipped and quantized histogram is from what was counted: the Kullback-Leibler
// divergence.

#include <tq/bodies.hpp>
#include <tq/calibrate/detail/distribution.hpp>
#include <tq/calibrate/detail/logarithm.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tq::detail {

/// Which bins are counted, and as what.
enum class Signs : std::uint8_t {
  kept,
  folded,   ///< negative values as their magnitudes
  dropped,  ///< no negative values
};

/// Counts of bins that are numbered from zero in units of their width: bin j covers [j, j + 1).
/// With sums over all bins before each, so that one divergence costs as much as there are levels.
class NumberedBins {
 public:
  template <HistogramAccumulator Acc>
  NumberedBins(const Acc& seen, Signs signs) {
    fill(bins_of_all(seen), signs);
  }
  /// `beyond_below`, `beyond_above`: counts beyond the bins, which every window clips.
  TQ_CORE_API NumberedBins(const BinCounts& bins, Signs signs, double beyond_below,
                           double beyond_above);

  /// The first and one past the last bin in which something was counted.
  [[nodiscard]] std::int64_t first() const noexcept { return first_; }
  [[nodiscard]] TQ_CORE_API std::int64_t end() const noexcept;

  /// KL(P || Q) of the window of bins [begin, last). P are the counts in it, what lies outside
  /// added to its first and last bin. Q is what is left of the counts inside without that when the
  /// window is cut at begin + cut * (last - begin): what is between two cuts is spread evenly over
  /// the bins there that are not empty, a bin that is cut belonging to both sides with its parts.
  /// Infinite where P is not 0 but Q is.
  [[nodiscard]] TQ_CORE_API double divergence(std::int64_t begin, std::int64_t last,
                                              std::span<const double> cuts) const;

 private:
  struct Sums {
    double counted, filled;
  };
  [[nodiscard]] static double x_log_x(double x) noexcept { return x > 0 ? x * std::log(x) : 0.0; }

  // A bin that lies across bins of this numbering, or across zero, is shared out.
  TQ_CORE_API void fill(const BinCounts& bins, Signs signs);

  [[nodiscard]] TQ_CORE_API std::size_t index(std::int64_t bin) const noexcept;
  [[nodiscard]] TQ_CORE_API double counted_before(std::int64_t bin) const noexcept;
  [[nodiscard]] double logs_before(std::int64_t bin) const noexcept { return logs_[index(bin)]; }
  [[nodiscard]] TQ_CORE_API double count(std::int64_t bin) const noexcept;
  // The counts, and the number of nonempty bins, before a place that may lie inside a bin.
  // Places count from first().
  [[nodiscard]] TQ_CORE_API Sums sums_before(double place) const noexcept;

  Logarithm log_;
  std::int64_t first_ = 0;
  double beyond_below_ = 0, beyond_above_ = 0;
  std::vector<double> counts_;
  std::vector<double> counted_, filled_, logs_;  // sums over the bins before each
};

}  // namespace tq::detail

#ifndef TQ_KERNEL_LIBRARY
#include <tq/calibrate/detail/divergence.ipp>
#endif

// SPDX-License-Identifier: MIT
#pragma once
// KlDivergenceCalibrator: the clipping threshold that keeps the distribution.

#include <tq/bodies.hpp>
#include <tq/calibrate/concepts.hpp>
#include <tq/calibrate/detail/distribution.hpp>
#include <tq/calibrate/detail/divergence.hpp>
#include <tq/calibrate/detail/quantizer_grid.hpp>
#include <tq/calibrate/lp.hpp>
#include <tq/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace tq {

namespace detail {

/// Where a window is cut, as shares of it, into what becomes one code each.
[[nodiscard]] TQ_CORE_API std::vector<double> window_cuts(const QuantizerGrid& grid,
                                                          std::int32_t zero_point);

/// A threshold in bins, and its divergence: infinite where there is none.
struct Threshold {
  std::int64_t bins = 0;
  bool is_whole = true;  ///< everything in bins lies within
  double divergence = std::numeric_limits<double>::infinity();
};

/// The threshold of least divergence.
[[nodiscard]] TQ_CORE_API Threshold least_divergence(const NumberedBins& bins,
                                                     const QuantizerGrid& grid,
                                                     std::span<const double> cuts,
                                                     std::int64_t stride);

/// The divergence when nothing is clipped, of bins and of single values that lie beyond them: each
/// counts in the level that its centre is in.
[[nodiscard]] TQ_CORE_API double whole_divergence(const BinCounts& bins,
                                                  const std::vector<ValueCount>& points, Range seen,
                                                  Signs signs, std::span<const double> cuts);

/// All counts in bins of one width, without the zeros that are known as such.
template <HistogramAccumulator Acc>
[[nodiscard]] BinCounts bins_without_zeros(const Acc& seen, const std::vector<ValueCount>& points) {
  BinCounts all = bins_of_all(seen);
  for (const ValueCount& v : points)
    if (v.value == 0) all.counts[static_cast<std::size_t>(-all.origin / all.width)] -= v.count;
  return all;
}

/// The observed range, clipped at a threshold.
[[nodiscard]] TQ_CORE_API Range clipped_at(Range whole, double t, const QuantizerGrid& grid);

/// The range that `KlDivergenceCalibrator` chooses, for quantizers of any type.
template <HistogramAccumulator Acc>
[[nodiscard]] Range kl_range(const QuantizerGrid& grid, const Acc& seen, std::int64_t stride,
                             bool count_zeros) {
  const Range whole = seen.range();
  if (!grid.leaves_choice(whole)) return whole;
  const Signs signs = grid.by == Decides::ends  ? Signs::kept
                      : grid.by == Decides::top ? Signs::dropped
                                                : Signs::folded;
  const std::vector<double> cuts = window_cuts(grid, grid.fit(whole).zero_point);
  const auto least = [&](const NumberedBins& bins) {
    return least_divergence(bins, grid, cuts, stride);
  };
  if (count_zeros) {
    const Threshold t = least(NumberedBins(seen, signs));
    return t.is_whole ? whole
                      : clipped_at(whole, static_cast<double>(t.bins) * seen.bin_width(), grid);
  }
  if (Distribution::is_few_values(seen, grid.size()))
    return least_lp_error(grid, Distribution::of(seen, grid.by), whole, 2);
  const std::vector<ValueCount> points = points_of(seen);
  const BinCounts fine = bins_of(seen);
  if (fine.counts.empty() || seen.bin_width() <= 4 * fine.width) {
    const BinCounts all = bins_without_zeros(seen, points);
    const Threshold t = least(NumberedBins(all, signs, 0, 0));
    return t.is_whole ? whole : clipped_at(whole, static_cast<double>(t.bins) * all.width, grid);
  }
  double below = 0, above = 0;
  for (const ValueCount& v : points)
    if (v.value != 0 && !(signs == Signs::dropped && v.value < 0))
      (signs == Signs::kept && v.value < 0 ? below : above) += static_cast<double>(v.count);
  const Threshold t = least(NumberedBins(fine, signs, below, above));
  if (!(t.divergence < whole_divergence(fine, points, whole, signs, cuts))) return whole;
  return clipped_at(whole, static_cast<double>(t.bins) * fine.width, grid);
}
#ifdef TQ_KERNEL_LIBRARY
extern template Range kl_range(const QuantizerGrid&, const Histogram&, std::int64_t, bool);
#endif

}  // namespace detail

/// The threshold T for which the Kullback-Leibler divergence of what is seen after clipping at T
/// from what is seen after quantization is the least: see `detail::NumberedBins::divergence`.
/// Candidates are whole numbers of bins from the whole range down, `stride` apart, as long as there
/// are a bin for every level and a value inside; ties go to the larger T, and the whole range is
/// the observed one. For symmetric integers these are magnitudes in [0, T], in as many levels of
/// equal width as there are codes from 0 on; values that unsigned types turn into 0 do not count.
/// For asymmetric integers they are values in [-T, T] within the observed range and 0, in as many
/// levels as there are codes; for floats and code books magnitudes in [0, T], in the cells of the
/// values that are not negative. Few values in many bins look as if there were something to keep in
/// every bin: T is then too small. Zeros that are known as such are left out: every T keeps them,
/// and as a part of the first bin they look like something to keep there. Values that are known and
/// lie so far out that bins up to them were more than four times as wide are clipped by every T or
/// by none. A few values that repeat, not more than there are codes, are no distribution to keep:
/// there it is the range of the least mean squared error. With `count_zeros` all of these are
/// counted in bins of one width, as the source has it. Source: Migacz, "8-bit Inference with
/// TensorRT", GTC 2017, S7310.
struct KlDivergenceCalibrator {
  /// Bins between candidates; 0 for the least that leaves at most 256 of them, and 2^15 levels to
  /// look at in all.
  std::int64_t stride = 0;
  bool count_zeros = false;

  /// Throws: `errc::bad_argument` for a negative stride.
  template <AnyParams Params, NumericsPolicy N, HistogramFor<Params> Acc>
    requires(!OffsetParams<Params>)  // thresholds are distances from 0
  [[nodiscard]] Range range(const Acc& seen) const {
    if (stride < 0)
      detail::raise_expected(errc::bad_argument, "tq::KlDivergenceCalibrator",
                             {"a stride of 0 or more"}, {stride});
    return detail::kl_range(detail::quantizer_grid<Params, N>(), seen, stride, count_zeros);
  }
};

}  // namespace tq

#ifndef TQ_KERNEL_LIBRARY
#include <tq/calibrate/kl_divergence.ipp>
#endif

// SPDX-License-Identifier: MIT
#pragma once
// KlDivergenceCalibrator: the clipping threshold that keeps the distribution.

#include <tq/calibrate/concepts.hpp>
#include <tq/calibrate/detail/distribution.hpp>
#include <tq/calibrate/detail/divergence.hpp>
#include <tq/calibrate/detail/quantizer_grid.hpp>
#include <tq/calibrate/lp.hpp>
#include <tq/error.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace tq {

namespace detail {

/// Where a window is cut, as shares of it, into what becomes one code each.
[[nodiscard]] inline std::vector<double> window_cuts(const QuantizerGrid& grid,
                                                     std::int32_t zero_point) {
  std::vector<double> cuts;
  if (grid.is_integer) {
    const std::int32_t levels =
        grid.codes.max - (grid.by == Decides::ends ? grid.codes.min : zero_point) + 1;
    for (std::int32_t k = 1; k < levels; ++k) cuts.push_back(static_cast<double>(k) / levels);
    return cuts;
  }
  const LevelTable& table = grid.levels();
  const double top = std::max(table.levels.back(), -table.levels.front());
  for (const double t : table.thresholds)
    if (t > 0 && t < top) cuts.push_back(t / top);
  return cuts;
}

/// A threshold in bins, and its divergence: infinite where there is none.
struct Threshold {
  std::int64_t bins = 0;
  bool is_whole = true;  ///< everything in bins lies within
  double divergence = std::numeric_limits<double>::infinity();
};

/// The threshold of least divergence.
[[nodiscard]] inline Threshold least_divergence(const NumberedBins& bins, const QuantizerGrid& grid,
                                                std::span<const double> cuts, std::int64_t stride) {
  const std::int64_t lowest =
      grid.by == Decides::ends ? std::min(bins.first(), std::int64_t{0}) : 0;
  const std::int64_t highest = std::max(bins.end(), std::int64_t{0}),
                     whole = std::max(-lowest, highest);
  const auto levels = static_cast<std::int64_t>(cuts.size()) + 1;
  const auto begin = [&](std::int64_t t) { return std::max(lowest, -t); };
  const auto end = [&](std::int64_t t) { return std::min(highest, t); };
  // The windows that have as many bins as there are levels, and something in them.
  std::int64_t least = std::max({bins.first(), -bins.end(), std::int64_t{0}}) + 1;
  if (end(whole) - begin(whole) < levels) return {};
  while (end(least) - begin(least) < levels) {
    const std::int64_t lacking = levels - (end(least) - begin(least));
    least += std::max((lacking + 1) / 2, std::int64_t{1});
  }
  if (stride == 0)
    stride = (whole - least) / std::clamp(32768 / levels, std::int64_t{1}, std::int64_t{256}) + 1;
  Threshold best;
  for (std::int64_t t = whole; t >= least; t -= stride) {
    const double d = bins.divergence(begin(t), end(t), cuts);
    if (d < best.divergence - 1e-12) best = {t, t == whole, d};
  }
  return best;
}

/// The divergence when nothing is clipped, of bins and of single values that lie beyond them: each
/// counts in the level that its centre is in.
[[nodiscard]] inline double whole_divergence(const BinCounts& bins,
                                             const std::vector<ValueCount>& points, Range seen,
                                             Signs signs, std::span<const double> cuts) {
  const bool both = signs == Signs::kept;
  const double bottom = both ? std::min(double(seen.min), 0.0) : 0.0;
  const double top = signs == Signs::folded ? std::max(-double(seen.min), double(seen.max))
                                            : std::max(double(seen.max), 0.0);
  std::vector<double> counted(cuts.size() + 1), filled(cuts.size() + 1);
  double total = 0, sum = 0;
  const auto add = [&](double at, std::uint64_t count) {
    if (count == 0 || (signs == Signs::dropped && at < 0)) return;
    const double share = ((both ? at : std::abs(at)) - bottom) / (top - bottom),
                 n = static_cast<double>(count);
    const auto level =
        static_cast<std::size_t>(std::lower_bound(cuts.begin(), cuts.end(), share) - cuts.begin());
    counted[level] += n;
    filled[level] += 1;
    total += n;
    sum += n * std::log(n);
  };
  for (std::size_t i = 0; i < bins.counts.size(); ++i)
    add(bins.origin + (static_cast<double>(i) + 0.5) * bins.width, bins.counts[i]);
  for (const ValueCount& v : points)
    if (v.value != 0) add(double(v.value), v.count);
  for (std::size_t k = 0; k < counted.size(); ++k)
    if (counted[k] > 0) sum -= counted[k] * std::log(counted[k] / filled[k]);
  return sum / total;
}

/// All counts in bins of one width, without the zeros that are known as such.
template <HistogramAccumulator Acc>
[[nodiscard]] BinCounts bins_without_zeros(const Acc& seen, const std::vector<ValueCount>& points) {
  BinCounts all = bins_of_all(seen);
  for (const ValueCount& v : points)
    if (v.value == 0) all.counts[static_cast<std::size_t>(-all.origin / all.width)] -= v.count;
  return all;
}

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
    const Range whole = seen.range();
    const detail::QuantizerGrid grid = detail::quantizer_grid<Params, N>();
    if (!grid.leaves_choice(whole)) return whole;
    using detail::Decides, detail::Signs;
    const Signs signs = grid.by == Decides::ends  ? Signs::kept
                        : grid.by == Decides::top ? Signs::dropped
                                                  : Signs::folded;
    const std::vector<double> cuts = detail::window_cuts(grid, grid.fit(whole).zero_point);
    const auto least = [&](const detail::NumberedBins& bins) {
      return detail::least_divergence(bins, grid, cuts, stride);
    };
    if (count_zeros) {
      const detail::Threshold t = least(detail::NumberedBins(seen, signs));
      return t.is_whole ? whole
                        : clipped(whole, static_cast<double>(t.bins) * seen.bin_width(), grid);
    }
    if (detail::Distribution::is_few_values(seen, grid.size()))
      return detail::least_lp_error(grid, detail::Distribution::of(seen, grid.by), whole, 2);
    const std::vector<ValueCount> points = detail::points_of(seen);
    const BinCounts fine = detail::bins_of(seen);
    if (fine.counts.empty() || seen.bin_width() <= 4 * fine.width) {
      const BinCounts all = detail::bins_without_zeros(seen, points);
      const detail::Threshold t = least(detail::NumberedBins(all, signs, 0, 0));
      return t.is_whole ? whole : clipped(whole, static_cast<double>(t.bins) * all.width, grid);
    }
    double below = 0, above = 0;
    for (const ValueCount& v : points)
      if (v.value != 0 && !(signs == Signs::dropped && v.value < 0))
        (signs == Signs::kept && v.value < 0 ? below : above) += static_cast<double>(v.count);
    const detail::Threshold t = least(detail::NumberedBins(fine, signs, below, above));
    if (!(t.divergence < detail::whole_divergence(fine, points, whole, signs, cuts))) return whole;
    return clipped(whole, static_cast<double>(t.bins) * fine.width, grid);
  }

 private:
  [[nodiscard]] static Range clipped(Range whole, double t, const detail::QuantizerGrid& grid) {
    if (grid.by != detail::Decides::ends) return grid.symmetric(t);
    return {static_cast<float>(std::max(double(whole.min), -t)),
            static_cast<float>(std::min(double(whole.max), t))};
  }
};

}  // namespace tq

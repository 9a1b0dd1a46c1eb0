// SPDX-License-Identifier: MIT
#pragma once
// KlDivergenceCalibrator: the clipping threshold that keeps the distribution.

#include <tq/calibrate/concepts.hpp>
#include <tq/calibrate/distribution.hpp>
#include <tq/calibrate/divergence.hpp>
#include <tq/calibrate/quantizer_grid.hpp>
#include <tq/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace tq {

namespace detail {

/// Where a window is cut, as shares of it, into what becomes one code each.
[[nodiscard]] inline std::vector<double> window_cuts(const QuantizerGrid& grid, std::int32_t zero_point) {
  std::vector<double> cuts;
  if (grid.is_integer) {
    const std::int32_t levels = grid.codes.max - (grid.by == Decides::ends ? grid.codes.min : zero_point) + 1;
    for (std::int32_t k = 1; k < levels; ++k) cuts.push_back(static_cast<double>(k) / levels);
    return cuts;
  }
  const LevelTable& table = grid.levels();
  const double top = std::max(table.levels.back(), -table.levels.front());
  for (const double t : table.thresholds)
    if (t > 0 && t < top) cuts.push_back(t / top);
  return cuts;
}

/// The threshold of least divergence in bins; 0 for what was seen as a whole.
[[nodiscard]] inline std::int64_t least_divergence(const NumberedBins& bins, const QuantizerGrid& grid,
                                                   std::span<const double> cuts, std::int64_t stride) {
  const std::int64_t lowest = grid.by == Decides::ends ? std::min(bins.first(), std::int64_t{0}) : 0;
  const std::int64_t highest = std::max(bins.end(), std::int64_t{0}), whole = std::max(-lowest, highest);
  const auto levels = static_cast<std::int64_t>(cuts.size()) + 1;
  const auto begin = [&](std::int64_t t) { return std::max(lowest, -t); };
  const auto end = [&](std::int64_t t) { return std::min(highest, t); };
  // The windows that have as many bins as there are levels, and something in them.
  std::int64_t least = std::max({bins.first(), -bins.end(), std::int64_t{0}}) + 1;
  if (end(whole) - begin(whole) < levels) return 0;
  while (end(least) - begin(least) < levels) {
    const std::int64_t lacking = levels - (end(least) - begin(least));
    least += std::max((lacking + 1) / 2, std::int64_t{1});
  }
  if (stride == 0) stride = (whole - least) / std::clamp(32768 / levels, std::int64_t{1}, std::int64_t{256}) + 1;
  std::int64_t best = 0;
  double best_divergence = std::numeric_limits<double>::infinity();
  for (std::int64_t t = whole; t >= least; t -= stride) {
    const double d = bins.divergence(begin(t), end(t), cuts);
    if (!(d < best_divergence - 1e-12)) continue;
    best_divergence = d;
    best = t == whole ? 0 : t;
  }
  return best;
}

}  // namespace detail

/// The threshold T for which the Kullback-Leibler divergence of what is seen after clipping at T from what is seen
/// after quantization is the least: see `detail::NumberedBins::divergence`. Candidates are whole numbers of bins from
/// the whole range down, `stride` apart, as long as there are a bin for every level and a value inside; ties go to the
/// larger T, and the whole range is the observed one.
/// For symmetric integers these are magnitudes in [0, T], in as many levels of equal width as there are codes from 0 on;
/// values that unsigned types turn into 0 do not count. For asymmetric integers they are values in [-T, T] within the
/// observed range and 0, in as many levels as there are codes; for floats and code books magnitudes in [0, T], in the
/// cells of the values that are not negative. Few values in many bins look as if there were something to keep in every
/// bin: T is then too small.
/// Source: Migacz, "8-bit Inference with TensorRT", GTC 2017, S7310.
struct KlDivergenceCalibrator {
  /// Bins between candidates; 0 for the least that leaves at most 256 of them, and 2^15 levels to look at in all.
  std::int64_t stride = 0;

  /// Throws: `errc::bad_argument` for a negative stride.
  template <AnyParams Params, NumericsPolicy N, HistogramFor<Params> Acc>
  [[nodiscard]] Range range(const Acc& seen) const {
    if (stride < 0)
      raise(errc::bad_argument,
            "tq::KlDivergenceCalibrator: expected a stride of 0 or more, got " + std::to_string(stride));
    const Range whole = seen.range();
    const detail::QuantizerGrid grid = detail::quantizer_grid<Params, N>();
    if (!grid.leaves_choice(whole)) return whole;
    using detail::Decides, detail::Signs;
    const Signs signs = grid.by == Decides::ends  ? Signs::kept
                        : grid.by == Decides::top ? Signs::dropped
                                                  : Signs::folded;
    const std::vector<double> cuts = detail::window_cuts(grid, grid.fit(whole).zero_point);
    const std::int64_t bins = detail::least_divergence(detail::NumberedBins(seen, signs), grid, cuts, stride);
    if (bins == 0) return whole;
    const double t = static_cast<double>(bins) * seen.bin_width();
    if (grid.by != Decides::ends) return grid.symmetric(t);
    return {static_cast<float>(std::max(double(whole.min), -t)), static_cast<float>(std::min(double(whole.max), t))};
  }
};

}  // namespace tq

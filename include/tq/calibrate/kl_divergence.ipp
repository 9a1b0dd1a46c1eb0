// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/calibrate/kl_divergence.hpp.

#include <tq/calibrate/kl_divergence.hpp>

#include <cmath>

namespace tq {

namespace detail {

TQ_CORE_API std::vector<double> window_cuts(const QuantizerGrid& grid, std::int32_t zero_point) {
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

TQ_CORE_API Threshold least_divergence(const NumberedBins& bins, const QuantizerGrid& grid,
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

TQ_CORE_API double whole_divergence(const BinCounts& bins, const std::vector<ValueCount>& points,
                                    Range seen, Signs signs, std::span<const double> cuts) {
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

TQ_CORE_API Range clipped_at(Range whole, double t, const QuantizerGrid& grid) {
  if (grid.by != Decides::ends) return grid.symmetric(t);
  return {static_cast<float>(std::max(double(whole.min), -t)),
          static_cast<float>(std::min(double(whole.max), t))};
}

#ifdef TQ_KERNEL_LIBRARY
template Range kl_range(const QuantizerGrid&, const Histogram&, std::int64_t, bool);
#endif

}  // namespace detail

}  // namespace tq

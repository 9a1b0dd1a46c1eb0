// SPDX-License-Identifier: MIT
#pragma once
// How what was seen is distributed over the real numbers: single values with their shares, and what
// a histogram counted, evenly within each bin.

#include <tq/bodies.hpp>
#include <tq/calibrate/range_for.hpp>
#include <tq/observe/histogram.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tq {

/// A histogram from which ranges for `Params` can be chosen.
template <class Acc, class Params>
concept HistogramFor = HistogramAccumulator<Acc> && RangeFor<Acc, Params>;

/// Values or a histogram from which ranges for `Params` can be chosen.
template <class Acc, class Params>
concept SampleFor = RangeFor<Acc, Params> && (HistogramAccumulator<Acc> || SampleAccumulator<Acc>);

namespace detail {

/// A value that a share of everything has exactly.
struct Mass {
  double at, share;
};

/// All values in bins of one width.
template <HistogramAccumulator Acc>
[[nodiscard]] BinCounts bins_of_all(const Acc& seen) {
  const auto& counts = seen.counts();  // of which some make a new vector
  return {{counts.begin(), counts.end()}, seen.origin(), seen.bin_width(), seen.range()};
}
/// The values that a histogram knows exactly, and the bins of the other values: of all values if it
/// knows no single values.
template <HistogramAccumulator Acc>
[[nodiscard]] std::vector<ValueCount> points_of(const Acc& seen) {
  if constexpr (requires { seen.points(); }) return seen.points();
  else return {};
}
template <HistogramAccumulator Acc>
[[nodiscard]] BinCounts bins_of(const Acc& seen) {
  if constexpr (requires { seen.bins(); }) return seen.bins();
  else return bins_of_all(seen);
}

/// A density as the places where it changes: it falls by drop[i] at at[i], ascending. With U a
/// primitive of u, the mean of u is sum drop[i] * U(at[i]) + sum points[i].share * u(points[i].at).
struct Steps {
  std::vector<double> at, drop;
  std::vector<Mass> points;
};

/// Everything seen, in units of its largest magnitude. Bins at the ends are cut off where the
/// values end.
class Distribution {
 public:
  /// The share below[i] of everything lies in bins below edges[i]: 0 for the first edge. Edges but
  /// the first and the last are `width` apart. `points`, ascending, are the rest. Where `mirrored`,
  /// these are magnitudes, and half of each is meant to be negative.
  TQ_CORE_API Distribution(double unit, std::vector<double> edges, std::vector<double> below,
                           double width, bool mirrored, std::vector<Mass> points = {});

  /// Magnitudes stand for both signs, unless only the positive ones decide. Precondition: some
  /// value that is not 0 was seen.
  template <HistogramAccumulator Acc>
  [[nodiscard]] static Distribution of(const Acc& seen, Decides by = Decides::magnitude) {
    return of(bins_of(seen), points_of(seen), seen.range(), Acc::is_absolute,
              Acc::is_absolute && by != Decides::top);
  }

  /// The values themselves, while there are such. Precondition: some value that is not 0 was seen.
  template <SampleAccumulator Acc>
  [[nodiscard]] static Distribution of(const Acc& seen, Decides by = Decides::magnitude) {
    if (!seen.is_exact()) return of(*seen.histogram(), by);
    const std::vector<float> values = seen.values();
    const double unit = std::max(std::abs(double(values.front())), std::abs(double(values.back())));
    std::vector<Mass> points;
    for (const float v : values) {
      if (points.empty() || points.back().at != double(v) / unit)
        points.push_back({double(v) / unit, 0});
      points.back().share += 1 / static_cast<double>(values.size());
    }
    return {unit, {0}, {0}, 1.0 / 4096, false, std::move(points)};
  }

  /// The largest magnitude seen.
  [[nodiscard]] double unit() const noexcept { return unit_; }
  [[nodiscard]] double width() const noexcept { return width_; }

  /// Whether it is no more than `codes` different values, and these were seen again and again:
  /// masses, not a sample of a density. `Seen` is what was counted.
  template <HistogramAccumulator Acc>
  [[nodiscard]] static bool is_few_values(const Acc& seen, std::size_t codes) {
    const std::vector<ValueCount> points = points_of(seen);
    if (points.empty() || points.size() > codes || !bins_of(seen).counts.empty()) return false;
    std::uint64_t total = 0;
    for (const ValueCount& v : points) total += v.count;
    return total / 4 >= points.size();
  }

  /// Whether there is no density, and few values enough to try every range.
  [[nodiscard]] bool is_few_points() const noexcept {
    return edges_.size() < 2 && points_.size() <= 64;
  }

  /// The same without the zeros that are known as such, which every quantizer keeps.
  [[nodiscard]] TQ_CORE_API Distribution without_zeros() const;

  /// The share that does not lie above x, if it is a single value, or lies below.
  [[nodiscard]] TQ_CORE_API double below(double x) const noexcept;

  [[nodiscard]] TQ_CORE_API double mean() const noexcept;
  /// The mean of |x - centre|.
  [[nodiscard]] TQ_CORE_API double mean_distance(double centre) const noexcept;
  /// The mean of (x - centre)^2.
  [[nodiscard]] TQ_CORE_API double mean_square(double centre) const noexcept;

  /// The least value of which half of everything does not lie above, to 2^-40.
  [[nodiscard]] TQ_CORE_API double median() const noexcept;

  /// Neighbouring bins are joined while they are not wider than 1 / `resolution` of their distance
  /// from `middle`; none for 0.
  [[nodiscard]] TQ_CORE_API Steps steps(double resolution = 0, double middle = 0) const;

 private:
  [[nodiscard]] TQ_CORE_API static Distribution of(const BinCounts& bins,
                                                   const std::vector<ValueCount>& values,
                                                   Range seen, bool is_absolute, bool mirrored);

  [[nodiscard]] TQ_CORE_API double magnitude_below(double x) const noexcept;
  // Edges are evenly spaced but for the ends, so the bin of x is where it should be, or beside it
  // by rounding.
  [[nodiscard]] TQ_CORE_API double below_in_bins(double x) const noexcept;

  // Bins in ascending order, then single values, which are bins without a width.
  template <class F>
  void for_each_bin(F&& f) const {
    const std::size_t bins = edges_.size() - 1;
    const double part = mirrored_ ? 0.5 : 1.0;
    if (mirrored_)
      for (std::size_t i = bins; i-- > 0;)
        f(-edges_[i + 1], -edges_[i], part * (below_[i + 1] - below_[i]));
    for (std::size_t i = 0; i < bins; ++i)
      f(edges_[i], edges_[i + 1], part * (below_[i + 1] - below_[i]));
    for (const Mass& m : points_) {
      if (mirrored_) f(-m.at, -m.at, part * m.share);
      f(m.at, m.at, part * m.share);
    }
  }

  double unit_, width_, inverse_width_;
  bool mirrored_;
  std::vector<double> edges_, below_;
  std::vector<Mass> points_;
};

}  // namespace detail
}  // namespace tq

#ifndef TQ_KERNEL_LIBRARY
#include <tq/calibrate/detail/distribution.ipp>
#endif

// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/calibrate/detail/distribution.hpp.

#include <tq/calibrate/detail/distribution.hpp>

namespace tq {

namespace detail {

TQ_CORE_API Distribution::Distribution(double unit, std::vector<double> edges,
                                       std::vector<double> below, double width, bool mirrored,
                                       std::vector<Mass> points)
    : unit_(unit),
      width_(width),
      inverse_width_(1 / width),
      mirrored_(mirrored),
      edges_(std::move(edges)),
      below_(std::move(below)),
      points_(std::move(points)) {}

TQ_CORE_API Distribution Distribution::without_zeros() const {
  Distribution d = *this;
  const auto zero =
      std::find_if(d.points_.begin(), d.points_.end(), [](const Mass& m) { return m.at == 0; });
  if (zero == d.points_.end() || zero->share == 1) return d;
  const double rest = 1 - zero->share;
  d.points_.erase(zero);
  for (Mass& m : d.points_) m.share /= rest;
  for (double& b : d.below_) b /= rest;
  return d;
}

TQ_CORE_API double Distribution::below(double x) const noexcept {
  if (!mirrored_) return magnitude_below(x);
  return x < 0 ? 0.5 - 0.5 * magnitude_below(-x) : 0.5 + 0.5 * magnitude_below(x);
}

TQ_CORE_API double Distribution::mean() const noexcept {
  double sum = 0;
  for_each_bin([&](double lo, double hi, double share) { sum += share * (lo + hi) / 2; });
  return sum;
}

TQ_CORE_API double Distribution::mean_distance(double centre) const noexcept {
  double sum = 0;
  for_each_bin([&](double lo, double hi, double share) {
    const double a = lo - centre, b = hi - centre;
    sum += share * (a < 0 && b > 0 ? (a * a + b * b) / (2 * (b - a)) : std::abs(a + b) / 2);
  });
  return sum;
}

TQ_CORE_API double Distribution::mean_square(double centre) const noexcept {
  double sum = 0;
  for_each_bin([&](double lo, double hi, double share) {
    const double a = lo - centre, b = hi - centre;
    sum += share * (a * a + a * b + b * b) / 3;
  });
  return sum;
}

TQ_CORE_API double Distribution::median() const noexcept {
  double low = -1, high = 1;
  while (high - low > 0x1p-40) {
    const double middle = low + (high - low) / 2;
    (below(middle) < 0.5 ? low : high) = middle;
  }
  return high;
}

TQ_CORE_API Steps Distribution::steps(double resolution, double middle) const {
  struct Bin {
    double lo, hi, share;
  };
  Steps out;
  std::vector<Bin> bins;
  for_each_bin([&](double lo, double hi, double share) {
    const auto joins = [&](const Bin& last) {
      const bool alike =
          (share > 0) == (last.share > 0) && (last.share + share) * 4 * resolution <= 1;
      const double distance = last.lo < middle ? middle - hi : last.lo - middle;
      return alike && last.hi == lo && (hi - last.lo) * resolution <= distance;
    };
    if (lo == hi) {
      if (share > 0) out.points.push_back({lo, share});
    } else if (resolution > 0 && !bins.empty() && joins(bins.back())) {
      bins.back().hi = hi;
      bins.back().share += share;
    } else {
      bins.push_back({lo, hi, share});
    }
  });
  const auto step = [&](double at, double drop) {
    if (drop == 0) return;
    out.at.push_back(at);
    out.drop.push_back(drop);
  };
  double density = 0, end = 0;
  for (const Bin& bin : bins) {
    if (bin.lo != end) step(end, std::exchange(density, 0.0));
    const double next = bin.share / (bin.hi - bin.lo);
    step(bin.lo, density - next);
    density = next;
    end = bin.hi;
  }
  step(end, density);
  return out;
}

TQ_CORE_API Distribution Distribution::of(const BinCounts& bins,
                                          const std::vector<ValueCount>& values, Range seen,
                                          bool is_absolute, bool mirrored) {
  const double unit = std::max(std::abs(double(seen.min)), std::abs(double(seen.max)));
  double total = 0;
  for (const std::uint64_t c : bins.counts) total += static_cast<double>(c);
  for (const ValueCount& v : values) total += static_cast<double>(v.count);
  std::vector<Mass> points;
  for (const ValueCount& v : values)
    points.push_back({double(v.value) / unit, static_cast<double>(v.count) / total});
  if (bins.counts.empty()) return {unit, {0}, {0}, 1.0 / 4096, mirrored, std::move(points)};
  const double first =
      (is_absolute ? std::max(double(bins.range.min), 0.0) : double(bins.range.min)) / unit;
  const double last = double(bins.range.max) / unit;
  std::vector<double> edges{first}, below{0.0};
  double sum = 0;
  for (std::size_t i = 0; i < bins.counts.size(); ++i) {
    sum += static_cast<double>(bins.counts[i]);
    edges.push_back(
        std::clamp((bins.origin + static_cast<double>(i + 1) * bins.width) / unit, first, last));
    below.push_back(sum / total);
  }
  return {unit, std::move(edges), std::move(below), bins.width / unit, mirrored, std::move(points)};
}

TQ_CORE_API double Distribution::magnitude_below(double x) const noexcept {
  double share = below_in_bins(x);
  for (const Mass& m : points_)
    if (m.at <= x) share += m.share;
  return share;
}

TQ_CORE_API double Distribution::below_in_bins(double x) const noexcept {
  if (!(x > edges_.front())) return 0;
  if (x >= edges_.back()) return below_.back();
  const std::size_t bins = edges_.size() - 1;
  const double guess = (x - edges_[1]) * inverse_width_ + 1;
  std::size_t i = guess > 0 ? std::min(static_cast<std::size_t>(guess), bins - 1) : 0;
  while (x < edges_[i]) --i;
  while (x >= edges_[i + 1]) ++i;
  return below_[i] + (below_[i + 1] - below_[i]) * ((x - edges_[i]) / (edges_[i + 1] - edges_[i]));
}

}  // namespace detail

}  // namespace tq

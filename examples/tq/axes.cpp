// SPDX-License-Identifier: MIT
#include "axes.hpp"

#include <algorithm>
#include <cmath>

namespace tool {

double nice_step(double length, int count) {
  const double rough = length / count, power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double m : {1.0, 2.0, 5.0})
    if (m * power >= rough) return m * power;
  return 10 * power;
}

Horizontal::Horizontal(tq::Range shown, std::span<const tq::Range> covered, double room)
    : lo_(double{shown.min}), hi_(double{shown.max}) {
  const double lo = lo_, hi = hi_;
  const double length = hi > lo ? hi - lo : std::max(std::abs(hi), 1e-30);
  for (const tq::Range& range : covered) {
    lo_ = std::min(lo_, std::max(double{range.min}, lo - room * length));
    hi_ = std::max(hi_, std::min(double{range.max}, hi + room * length));
  }
  const double margin = 0.02 * std::max(hi_ - lo_, length);
  lo_ -= margin;
  hi_ += margin;
}

double Horizontal::at(double x) const { return std::clamp((x - lo_) / (hi_ - lo_), 0.0, 1.0); }

std::vector<double> column_counts(const tq::Histogram& seen, const Horizontal& x,
                                  std::size_t columns, Beyond& beyond) {
  std::vector<double> out(columns, 0.0);
  const double last_column = static_cast<double>(columns - 1);
  const double column = (x.hi() - x.lo()) / static_cast<double>(columns);
  const auto add = [&](double n, double lo, double hi) {
    if (hi < x.lo()) beyond.below += n;
    if (lo > x.hi()) beyond.above += n;
    if (hi < x.lo() || lo > x.hi()) return;
    const double from = (lo - x.lo()) / column, to = (hi - x.lo()) / column;
    const auto first = static_cast<std::size_t>(std::clamp(from, 0.0, last_column));
    const auto last = static_cast<std::size_t>(std::clamp(to, 0.0, last_column));
    for (std::size_t c = first; c <= last; ++c) {
      const double begin = c == first ? from : static_cast<double>(c);
      const double end = c == last ? to : static_cast<double>(c + 1);
      out[c] += first == last ? n : n * (end - begin) / (to - from);
    }
  };
  for (const tq::ValueCount& v : seen.points())
    add(static_cast<double>(v.count), double{v.value}, double{v.value});
  const tq::BinCounts bins = seen.bins();
  for (std::size_t i = 0; i < bins.counts.size(); ++i) {
    const double begin = bins.origin + static_cast<double>(i) * bins.width;
    if (bins.counts[i] != 0) add(static_cast<double>(bins.counts[i]), begin, begin + bins.width);
  }
  return out;
}

}  // namespace tool

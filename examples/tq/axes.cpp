// SPDX-License-Identifier: MIT
#include "axes.hpp"

#include "output.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>

namespace tool {

double nice_step(double length, int count) {
  const double rough = std::max(length / count, 1e-300);
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double m : {1.0, 2.0, 5.0})
    if (m * power >= rough) return m * power;
  return 10 * power;
}

namespace {

// The number in the fewest digits, from four on, that differ from those of its neighbours.
std::string tick_label(double x, double step) {
  if (x == 0) return "0";
  const double places = std::log10(std::abs(x) / step);
  const int digits = std::clamp(static_cast<int>(std::ceil(places)) + 2, 4, 17);
  char text[40];
  std::snprintf(text, sizeof text, "%.*g", digits, x);
  return text;
}

}  // namespace

std::vector<Tick> ticks_between(double lo, double hi, int count) {
  std::vector<Tick> out;
  // Half of the steps of a length may lie outside of it, so that some steps are tried.
  for (int wanted = count; out.size() < 2 && wanted <= 64 * count; wanted *= 2) {
    out.clear();
    const double step = nice_step(hi - lo, wanted);
    const double first = std::ceil(lo / step), last = std::floor(hi / step);
    for (double k = first; k <= last && out.size() < 100; ++k)
      out.push_back({k * step, tick_label(k * step, step)});
  }
  // A range of few numbers of its type has no round ones.
  if (out.size() < 2 || out[0].label == out[1].label)
    out = {{lo, tick_label(lo, hi - lo)}, {hi, tick_label(hi, hi - lo)}};
  return out;
}

std::vector<Tick> log_ticks(double most) {
  std::vector<Tick> out;
  const double decades = std::log10(std::max(most, 1.0));
  const double step = std::max(1.0, std::ceil(decades / 6));
  for (double at = 0; at <= decades + 1e-9; at += step) {
    const double count = std::pow(10.0, at);
    out.push_back({count, count < 1e7 ? grouped(static_cast<std::uint64_t>(std::llround(count)))
                                      : short_number(count)});
  }
  if (out.size() < 3)
    for (const double more : {2.0, 5.0, 20.0, 50.0})
      if (more <= most) out.push_back({more, short_number(more)});
  if (out.size() < 2) out.push_back({0.0, "0"});
  return out;
}

Horizontal::Horizontal(tq::Range shown, std::span<const tq::Range> covered, double room)
    : lo_(double{shown.min}), hi_(double{shown.max}) {
  const double lo = lo_, hi = hi_;
  const double length = hi > lo ? hi - lo : hi != 0 ? std::abs(hi) : 1;
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

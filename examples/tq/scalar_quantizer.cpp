// SPDX-License-Identifier: MIT
#include "scalar_quantizer.hpp"

#include "common/encoding.hpp"

#include <tq/core/quant_params.hpp>
#include <tq/json/encoded_parameters_json.hpp>
#include <tq/scheme/visit.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace tool {

using examples::Types;

namespace {

// The value of each code of a quantizer of scale 1 and offset 0, and the start of the next cell.
class Cells {
 public:
  Cells(const tq::QuantizerGrid& grid, const tq::Affine& affine)
      : table_(grid.is_integer ? nullptr : &grid.levels()),
        lowest_(grid.codes.min - affine.zero_point),
        highest_(grid.codes.max - affine.zero_point) {}

  // |t - t'| of values from lo to hi: the mean of its square when they are spread evenly, and how
  // small and how large it may be.
  struct Errors {
    double mean_square, least, most;
  };
  [[nodiscard]] Errors errors(double lo, double hi) const {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (table_ != nullptr && (lo < table_->lowest || hi > table_->highest))
      return {infinity, infinity, infinity};  // not a number
    std::ptrdiff_t k = cell_of(lo);
    if (!(lo < hi)) {
      const double e = std::abs(lo - level(k));
      return {e * e, e, e};
    }
    double sum = 0;
    Errors out{0, infinity, 0};
    for (double at = lo; at < hi; ++k) {
      const double end = std::max(at, std::min(hi, threshold(k)));
      const double a = at - level(k), b = end - level(k);
      sum += (end - at) * (a * a + a * b + b * b) / 3;
      out.least = std::min(out.least, a <= 0 && b >= 0 ? 0.0 : std::min(std::abs(a), std::abs(b)));
      out.most = std::max({out.most, std::abs(a), std::abs(b)});
      at = end;
    }
    out.mean_square = sum / (hi - lo);
    return out;
  }

  // The share of them that lies beyond the ends by more than half a step.
  [[nodiscard]] double outside(double lo, double hi) const {
    const std::ptrdiff_t first = cell_of(-std::numeric_limits<double>::infinity());
    const std::ptrdiff_t last = cell_of(std::numeric_limits<double>::infinity());
    const double bottom = level(first) - (level(first + 1) - level(first)) / 2;
    const double top = level(last) + (level(last) - level(last - 1)) / 2;
    if (!(lo < hi)) return lo < bottom || lo > top ? 1 : 0;
    return 1 - std::max(std::min(hi, top) - std::max(lo, bottom), 0.0) / (hi - lo);
  }

 private:
  [[nodiscard]] std::ptrdiff_t cell_of(double t) const {
    if (table_ == nullptr)
      return static_cast<std::ptrdiff_t>(std::clamp(std::nearbyint(t), lowest_, highest_));
    const std::vector<double>& at = table_->thresholds;
    return std::lower_bound(at.begin(), at.end(), t) - at.begin();
  }
  [[nodiscard]] double level(std::ptrdiff_t k) const {
    return table_ == nullptr ? static_cast<double>(k) : table_->levels[static_cast<std::size_t>(k)];
  }
  [[nodiscard]] double threshold(std::ptrdiff_t k) const {
    constexpr double none = std::numeric_limits<double>::infinity();
    if (table_ == nullptr)
      return static_cast<double>(k) < highest_ ? static_cast<double>(k) + 0.5 : none;
    const std::vector<double>& at = table_->thresholds;
    return static_cast<std::size_t>(k) < at.size() ? at[static_cast<std::size_t>(k)] : none;
  }

  const tq::LevelTable* table_;  // of floats and code books
  double lowest_, highest_;      // of integers
};

}  // namespace

Levels levels_at(const tq::EncodedTensor& parameters, std::size_t slot) {
  Levels levels(tq::Affine{parameters.scales[slot],
                           parameters.zero_points.empty() ? 0 : parameters.zero_points[slot]});
  if (!parameters.offsets.empty()) levels.offset = parameters.offsets[slot];
  return levels;
}

FittedParams fitted_params(const tq::QuantSpec& asked, const tq::AnyGranularity& granularity,
                           std::span<const tq::Range> ranges) {
  tq::QuantSpec spec = asked;
  granularity.describe(spec);
  const tq::EncodedTensor fitted = examples::fitted(spec, ranges);
  FittedParams out{tq::io::encoded_parameters_to_json<Types, examples::Scales>(fitted), {}};
  for (std::size_t i = 0; i < ranges.size(); ++i) out.levels.push_back(levels_at(fitted, i));
  return out;
}

ScalarQuantizer::ScalarQuantizer(const tq::QuantSpec& spec)
    : grid_(tq::visit_type<Types>(
          spec,
          []<class T, class S>() {
            return tq::quantizer_grid<tq::QuantParams<T, tq::PerTensor, S>, tq::numerics::onnx>();
          })),
      origin_(tq::visit_type<Types>(spec, []<class T, class S>() {
        return std::string(tq::OffsetSymmetry<S> ? "offset"
                           : S::has_zero_point   ? "zero point"
                                                 : "");
      })) {}

tq::Range ScalarQuantizer::covered(const Levels& levels) const {
  const double scale = double{levels.scale}, from = double{levels.offset};
  const auto of = [&](double lowest, double highest) {
    constexpr double most = double{std::numeric_limits<float>::max()};
    return tq::Range{static_cast<float>(std::clamp(lowest * scale + from, -most, most)),
                     static_cast<float>(std::clamp(highest * scale + from, -most, most))};
  };
  if (grid_.is_integer)
    return of(grid_.codes.min - levels.zero_point, grid_.codes.max - levels.zero_point);
  const std::vector<double>& all = grid_.levels().levels;
  return of(all.front(), all.back());
}

void ScalarQuantizer::Estimate::add(const Estimate& other) {
  clipped += other.clipped;
  signal += other.signal;
  noise += other.noise;
  values += other.values;
  least_signal += other.least_signal;
  most_signal += other.most_signal;
  least_noise += other.least_noise;
  most_noise += other.most_noise;
}

double ScalarQuantizer::Estimate::clipped_share() const {
  return values == 0 ? 0 : clipped / values;
}

double ScalarQuantizer::Estimate::mse() const { return values == 0 ? 0 : noise / values; }

namespace {
double decibels(double signal, double noise) {
  return noise == 0 ? std::numeric_limits<double>::infinity() : 10 * std::log10(signal / noise);
}
}  // namespace

double ScalarQuantizer::Estimate::sqnr_db() const { return decibels(signal, noise); }
double ScalarQuantizer::Estimate::least_sqnr_db() const {
  return decibels(least_signal, most_noise);
}
double ScalarQuantizer::Estimate::most_sqnr_db() const {
  return decibels(most_signal, least_noise);
}

ScalarQuantizer::Estimate ScalarQuantizer::estimate(const Kept& seen, const Levels& levels) const {
  Estimate out;
  const tq::Range range = seen.bins.range();
  out.values = static_cast<double>(seen.bins.finite_count());
  const double scale = double{levels.scale}, offset = double{levels.offset};
  if (range == tq::Range{0, 0} && offset == 0) return out;  // which every type can tell
  const Cells cells(grid_, levels);
  // n values from lo to hi. What codes stand for is rounded to float32; beside an offset, so are
  // the distance from it, before and after, and their sum.
  const auto add = [&](double n, double lo, double hi) {
    const double from = (lo - offset) / scale, to = (hi - offset) / scale;
    const Cells::Errors e = cells.errors(from, to);
    const auto square = [](double x) { return x * x; };
    const double least = lo <= 0 && hi >= 0 ? 0.0 : std::min(std::abs(lo), std::abs(hi));
    const double most = std::max(std::abs(lo), std::abs(hi));
    const double beside = offset == 0 ? 0.0 : most + 2 * std::abs(offset);
    const double rounding = (most + scale + beside) * 0x1p-23;
    const bool is_exact = e.most == 0 && (offset == 0 || lo == offset);
    out.signal += n * (lo * lo + lo * hi + hi * hi) / 3;
    out.noise += n * scale * scale * e.mean_square;
    out.clipped += n * cells.outside(from, to);
    out.least_signal += n * square(least);
    out.most_signal += n * square(most);
    out.least_noise += n * square(std::max(scale * e.least - rounding, 0.0));
    out.most_noise += n * square(is_exact ? 0.0 : scale * e.most + rounding);
  };
  for (const float x : seen.values) add(1, double{x}, double{x});
  if (!seen.values.empty()) return out;
  for (const tq::ValueCount& v : seen.bins.points())
    add(static_cast<double>(v.count), double{v.value}, double{v.value});
  const tq::BinCounts bins = seen.bins.bins();
  for (std::size_t i = 0; i < bins.counts.size(); ++i) {
    if (bins.counts[i] == 0) continue;
    const double begin = bins.origin + static_cast<double>(i) * bins.width;
    add(static_cast<double>(bins.counts[i]), std::max(begin, double{bins.range.min}),
        std::min(begin + bins.width, double{bins.range.max}));
  }
  return out;
}

}  // namespace tool

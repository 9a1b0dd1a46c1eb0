// SPDX-License-Identifier: MIT
#pragma once
// BlockSearch: the scale of a block of weights that leaves the least weighted squared error.

#include <tq/core/fit_params.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/driver/planes.hpp>
#include <tq/numeric/rounding.hpp>
#include <tq/ops/backend/operations.hpp>
#include <tq/ops/detail/stored_planes.hpp>
#include <tq/ops/detail/sweep.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace tq::detail {

/// Float values under one scale, and origin, of static parameters: those of `fake_quantize`.
template <Backend B, AnyParams Params>
class BlockRounding {
  using N = numerics_of<Params>;

 public:
  static constexpr bool has_offset = Params::has_offset,
                        has_origin = Params::has_zero_point || Params::has_offset;

  /// The scale and origin for a range.
  [[nodiscard]] auto fit(Range range) const { return fit_affine<Params>(range); }
  /// The values of the codes of `x` under those numbers.
  template <class A>
  void round(const A& affine, std::span<const float> x, float* values) const {
    const auto operation = fake_quantizing<Params, float, float>(N{});
    driver::Parameters parameters{.scales = driver::plain<B>(&affine.scale)};
    if constexpr (Params::has_offset) parameters.origins = {&affine.offset, &offset_bits<B, float>};
    else if constexpr (Params::has_zero_point)
      parameters.origins = driver::plain<B>(&affine.zero_point);
    driver::sweep(kernel_for<B, known>(operation), {.source = x.data(), .target = values},
                  {.length = x.size()}, parameters);
  }

 private:
  static constexpr driver::KnownParameters known{
      .is_one = true, .has_origins = has_origin, .lacks_origins = !has_origin};
};

/// The elements of a block and their importances. `Rounding` is a BlockRounding, or
/// EncodedRounding.
template <class Rounding>
class BlockSearch {
 public:
  explicit BlockSearch(Rounding rounding = Rounding()) : rounding_(std::move(rounding)) {}

  void clear() noexcept {
    x_.clear();
    importances_.clear();
  }
  void push_back(float x, double importance) {
    x_.push_back(x);
    importances_.push_back(importance);
  }

  /// The smallest and the largest element.
  [[nodiscard]] Range seen() const noexcept {
    const auto [low, high] = std::ranges::minmax(x_);
    return {low, high};
  }

  [[nodiscard]] std::span<const float> elements() const noexcept { return x_; }
  [[nodiscard]] std::span<const double> importances() const noexcept { return importances_; }

  /// The values of the codes of all elements under the scale and origin of `affine`. The next call
  /// overwrites them.
  template <class A>
  [[nodiscard]] std::span<const float> values(const A& affine) {
    values_.resize(x_.size());
    rounding_.round(affine, x_, values_.data());
    return values_;
  }

  /// The sum of importance * (x - x')^2 under the scale and origin of `affine`.
  template <class A>
  [[nodiscard]] double error(const A& affine) {
    static_cast<void>(values(affine));
    double sum = 0;
    for (std::size_t i = 0; i < x_.size(); ++i) {
      const double e = static_cast<double>(x_[i]) - static_cast<double>(values_[i]);
      sum += uncontracted(importances_[i] * (e * e));
    }
    return sum;
  }

  /// The best of ranges around the observed one, which wins ties: both ends times factors, then
  /// each end by smaller and smaller steps.
  [[nodiscard]] Range best_range() {
    const Range all = seen();
    const double middle = rounding_.has_offset ? (double{all.min} + double{all.max}) / 2 : 0.0;
    const double low = std::max(middle - double{all.min}, 0.0),
                 high = std::max(double{all.max} - middle, 0.0);
    const auto range_of = [&](double a, double b) {
      return Range{bounded(middle - a * low), bounded(middle + b * high)};
    };
    Point best{1, 1, error(rounding_.fit(all))};
    const auto attempt = [&](double a, double b) {
      const double e = error(rounding_.fit(range_of(a, b)));
      if (e < best.error) best = {a, b, e};
    };
    for (double factor = 2.0; factor > 0.3; factor -= factor > 1.25 ? 0.25 : 1.0 / 64)
      attempt(factor, factor);
    const bool two_ends = rounding_.has_origin && low > 0 && high > 0;
    for (double step = 1.0 / 8; two_ends && step >= 1.0 / 64; step /= 2)
      move_ends(best, step, attempt);
    for (double step = 1.0 / 128; step >= 1.0 / 512; step /= 2) {
      attempt(best.low - step, best.high - step);
      attempt(best.low + step, best.high + step);
    }
    return best.low == 1 && best.high == 1 ? all : range_of(best.low, best.high);
  }

  /// The best of the codes of block scales around `code`, which wins ties: value(code) is the scale
  /// of a code.
  template <class Value>
  [[nodiscard]] std::uint8_t best_code(std::uint8_t code, std::uint8_t most, const Value& value) {
    constexpr int below = 10, above = 4;  // half of the scale to 1.25 times, where codes are normal
    std::uint8_t best = code;
    double least = error(Affine{value(code), 0});
    for (int c = std::max(code - below, 1); c <= std::min<int>(code + above, most); ++c) {
      const double e = error(Affine{value(static_cast<std::uint8_t>(c)), 0});
      if (e < least) least = e, best = static_cast<std::uint8_t>(c);
    }
    return best;
  }

 private:
  struct Point {
    double low, high, error;
  };

  static float bounded(double v) noexcept {
    constexpr double most = std::numeric_limits<float>::max();
    return static_cast<float>(std::clamp(v, -most, most));
  }

  template <class Attempt>
  static void move_ends(Point& best, double step, const Attempt& attempt) {
    for (int i = 0; i < 8; ++i) {
      const Point from = best;
      for (const double a : {-step, 0.0, step})
        for (const double b : {-step, 0.0, step})
          if (from.low + a > 0 && from.high + b > 0) attempt(from.low + a, from.high + b);
      if (!(best.error < from.error)) return;
    }
  }

  Rounding rounding_;
  std::vector<float> x_, values_;
  std::vector<double> importances_;
};

}  // namespace tq::detail

// SPDX-License-Identifier: MIT
#pragma once
// Random data of known distributions, histograms written by hand, and the true errors of
// quantizers, computed in double from the data themselves.

#include <tq/core/symmetry.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "inputs.hpp"

namespace distributions {

template <class F>
std::vector<float> draw(std::size_t n, std::uint64_t seed, F&& one) {
  inputs::Random r(seed);
  std::vector<float> x(n);
  for (float& v : x) v = static_cast<float>(one(r));
  return x;
}
inline double normal(inputs::Random& r) { return r.normal(); }
inline double laplace(inputs::Random& r) {
  const double u = r.unit() - 0.5;
  return u < 0 ? std::log(1 + 2 * u) : -std::log(1 - 2 * u);
}
/// Student's t with 3 degrees of freedom.
inline double student(inputs::Random& r) {
  const double a = r.normal(), b = r.normal(), c = r.normal();
  return r.normal() / std::sqrt((a * a + b * b + c * c) / 3);
}
inline double relu(inputs::Random& r) { return std::max(0.0, r.normal()); }
inline double bimodal(inputs::Random& r) {
  return r.chance(30) ? -2 + 0.5 * r.normal() : 3 + 0.8 * r.normal();
}
/// One in a thousand is twenty times as wide.
inline double outliers(inputs::Random& r) {
  return r.below(1000) == 0 ? 20 * r.normal() : r.normal();
}

struct Data {
  std::string name;
  std::vector<float> x;
};
/// n values of each of the six.
inline std::vector<Data> all(std::size_t n) {
  return {{"normal", draw(n, 1, normal)},   {"laplace", draw(n, 2, laplace)},
          {"student", draw(n, 3, student)}, {"relu", draw(n, 4, relu)},
          {"bimodal", draw(n, 5, bimodal)}, {"outliers", draw(n, 6, outliers)}};
}

/// A histogram of given counts.
template <bool Absolute = false>
struct Counts {
  static constexpr bool is_absolute = Absolute;
  std::vector<std::uint64_t> counts_;
  double origin_ = 0, width_ = 1;
  tq::Range range_ = ends();

  void add(std::span<const float>) {}
  void merge(const Counts&) {}
  [[nodiscard]] bool empty() const { return counts_.empty(); }
  [[nodiscard]] std::span<const std::uint64_t> counts() const { return counts_; }
  [[nodiscard]] double origin() const { return origin_; }
  [[nodiscard]] double bin_width() const { return width_; }
  [[nodiscard]] tq::Range range() const { return range_; }

 private:
  [[nodiscard]] tq::Range ends() const {
    return {static_cast<float>(origin_),
            static_cast<float>(origin_ + width_ * static_cast<double>(counts_.size()))};
  }
};

/// Sorted values with sums of them and of their squares, so that the squared error of one candidate
/// costs one search per level.
class Sorted {
 public:
  explicit Sorted(std::vector<float> x)
      : x_(std::move(x)), sum_(x_.size() + 1), squares_(x_.size() + 1) {
    std::sort(x_.begin(), x_.end());
    for (std::size_t i = 0; i < x_.size(); ++i) {
      const auto v = static_cast<long double>(x_[i]);
      sum_[i + 1] = sum_[i] + v;
      squares_[i + 1] = squares_[i] + v * v;
    }
  }
  [[nodiscard]] float min() const { return x_.front(); }
  [[nodiscard]] float max() const { return x_.back(); }
  [[nodiscard]] float abs_max() const { return std::max(-min(), max()); }

  /// The mean of (x - x')^2 for clamp(round(x / s), qmin - z, qmax - z) * s.
  [[nodiscard]] double mse(tq::Affine a, int qmin, int qmax) const {
    const auto s = static_cast<double>(a.scale);
    std::size_t from = 0;
    long double e = 0;
    for (int q = qmin; q <= qmax; ++q)
      e += cell((q - a.zero_point) * s, q == qmax ? infinity : (q - a.zero_point + 0.5) * s, from);
    return static_cast<double>(e) / static_cast<double>(x_.size());
  }
  /// The same for ascending levels at scale 1: every value becomes the nearest.
  [[nodiscard]] double mse(std::span<const double> levels, float scale) const {
    const auto s = static_cast<double>(scale);
    std::size_t from = 0;
    long double e = 0;
    for (std::size_t k = 0; k < levels.size(); ++k)
      e += cell(levels[k] * s,
                k + 1 == levels.size() ? infinity : (levels[k] + levels[k + 1]) / 2 * s, from);
    return static_cast<double>(e) / static_cast<double>(x_.size());
  }

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  // The sum of squared distances from `level` of the values from number `from` up to `end`.
  long double cell(double level, double end, std::size_t& from) const {
    const auto begin = x_.begin() + static_cast<std::ptrdiff_t>(from);
    const auto to = static_cast<std::size_t>(
        std::upper_bound(begin, x_.end(), end,
                         [](double a, float b) { return a < static_cast<double>(b); }) -
        x_.begin());
    const auto l = static_cast<long double>(level);
    const long double e = (squares_[to] - squares_[from]) - 2 * l * (sum_[to] - sum_[from]) +
                          l * l * static_cast<long double>(to - from);
    from = to;
    return e;
  }

  std::vector<float> x_;
  std::vector<long double> sum_, squares_;
};

}  // namespace distributions

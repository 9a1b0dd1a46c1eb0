// SPDX-License-Identifier: MIT
#pragma once
// The mean of |x - x'|^p that a quantizer leaves of a distribution.

#include <tq/calibrate/detail/distribution.hpp>
#include <tq/calibrate/detail/quantizer_grid.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace tq::detail {

/// x^3 / 3, the primitive of x^2.
struct SquarePrimitive {
  static constexpr int trials = 32, resolution = 0;
  [[nodiscard]] double operator()(double x) const noexcept { return x * x * x * (1.0 / 3); }
  [[nodiscard]] static double slope(double x) noexcept { return x * x; }
};

/// |x|^q / q with the sign of x, q = norm + 1: the primitive of |x|^norm. By cubics with the right
/// values and slopes at the ends of 64 parts of each binade; their relative error is below (q /
/// 64)^4 / 384.
class PowerPrimitive {
 public:
  static constexpr int trials = 12, resolution = 256;
  explicit PowerPrimitive(double norm) : q_(norm + 1) {
    for (std::size_t i = 0; i < parts; ++i) {
      const double a = 1 + static_cast<double>(i) / parts,
                   b = 1 + static_cast<double>(i + 1) / parts;
      const double va = std::pow(a, q_) / q_, vb = std::pow(b, q_) / q_;
      const double sa = q_ * va / a / parts, sb = q_ * vb / b / parts;
      cubics_[i] = {va, sa, 3 * (vb - va) - 2 * sa - sb, 2 * (va - vb) + sa + sb};
    }
    for (std::size_t i = 0; i < binades; ++i)
      scales_[i] = std::exp2(q_ * (static_cast<double>(i) - lowest));
  }
  [[nodiscard]] double operator()(double x) const noexcept {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    const std::uint64_t binade = (bits << 1 >> 53) - (1023 - lowest);
    if (binade >= binades) return std::copysign(std::pow(std::abs(x), q_) / q_, x);
    const std::array<double, 4>& c = cubics_[(bits >> 46) & (parts - 1)];
    // Where x lies in its part, from 0 to 1.
    const double f =
        std::bit_cast<double>((bits << 6 & 0xfffffffffffffu) | 0x3ff0000000000000u) - 1;
    const double size = scales_[binade] * ((c[0] + f * c[1]) + f * f * (c[2] + f * c[3]));
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(size) |
                                 (bits & (std::uint64_t{1} << 63)));
  }
  /// |x|^norm
  [[nodiscard]] double slope(double x) const noexcept { return x == 0 ? 0.0 : q_ * (*this)(x) / x; }

 private:
  static constexpr std::size_t parts = 64, binades = 64, lowest = 32;
  double q_;
  std::array<std::array<double, 4>, parts> cubics_;
  std::array<double, binades> scales_;
};

/// Scores levels by the mean error of everything, up to a factor that all share. `Primitive` is
/// that of |u|^norm; its `trials` and its `resolution` of exact scores (see `Distribution::steps`)
/// follow from what it costs.
///
/// With Q the quantizer of scale 1, the primitive of |t - Q(t)|^norm is
///     U(t) = P(t - Q(t)) + the integrals over the whole cells between 0 and t,
/// so a density that falls by drop[i] at at[i] has the mean error s^(norm + 1) * sum drop[i] *
/// U(at[i] / s) at scale s. With an offset everything lies that much lower.
template <class Primitive>
class LpError {
 public:
  static constexpr int trials = Primitive::trials;

  LpError(const QuantizerGrid& grid, const Distribution& seen, double norm,
          const Primitive& primitive)
      : grid_(grid),
        unit_(seen.unit()),
        width_(seen.width()),
        norm_(norm),
        primitive_(primitive),
        rough_(seen.steps(16, grid.middle / unit_)),
        exact_(seen.steps(Primitive::resolution, grid.middle / unit_)) {
    if (grid_.is_integer) return;
    table_ = &grid_.levels();
    cells_.push_back(0);
    for (std::size_t k = 0; k < table_->thresholds.size(); ++k) {
      const double t = table_->thresholds[k];
      cells_.push_back(cells_[k] + primitive_(t - table_->levels[k]) -
                       primitive_(t - table_->levels[k + 1]));
    }
  }

  /// Whether everything may lie on levels, as far as the histogram tells: errors are not larger
  /// than bins make them of values at their edges, although the narrowest cells are wider than
  /// that.
  [[nodiscard]] bool on_levels(const Levels& a) const {
    double narrowest = 1;
    if (!grid_.is_integer) {
      narrowest = std::numeric_limits<double>::infinity();
      for (std::size_t k = 0; k + 1 < table_->levels.size(); ++k)
        narrowest = std::min(narrowest, table_->levels[k + 1] - table_->levels[k]);
    }
    return narrowest * double(a.scale) / unit_ > 2 * width_ &&
           exact(a) <= std::pow(width_, norm_) / (norm_ + 1);
  }

  [[nodiscard]] double rough(const Levels& a) const { return error(rough_, a); }
  [[nodiscard]] double exact(const Levels& a) const { return error(exact_, a); }

 private:
  [[nodiscard]] double error(const Steps& d, const Levels& a) const {
    if (!QuantizerGrid::usable(a)) return std::numeric_limits<double>::infinity();
    const double scale = double(a.scale) / unit_, offset = double(a.offset) / unit_;
    const double density =
        grid_.is_integer ? integer_density(d, a, 1 / scale) : level_density(d, 1 / scale);
    double points = 0;
    for (const Mass& m : d.points)
      points += m.share * primitive_.slope(distance((m.at - offset) / scale, a));
    return std::pow(scale, norm_) * (scale * density + points);
  }

  // Integers: Q(t) = k by rounding t + shift to nearest, and every cell has the same integral.
  [[nodiscard]] double integer_density(const Steps& d, const Levels& a, double inverse) const {
    const double lo = grid_.codes.min - a.zero_point, hi = grid_.codes.max - a.zero_point,
                 offset = double(a.offset) / unit_;
    const auto part = [&](std::size_t from, std::size_t to, double shift, double cell) {
      const auto term = [&](std::size_t i) {
        const double t = (d.at[i] - offset) * inverse,
                     k = nearest(std::min(std::max(t + shift, lo), hi));
        return d.drop[i] * (k * cell + primitive_(t - k));
      };
      double s0 = 0, s1 = 0, s2 = 0, s3 = 0;  // sums that do not wait for each other
      for (; to - from >= 4; from += 4) {
        s0 += term(from);
        s1 += term(from + 1);
        s2 += term(from + 2);
        s3 += term(from + 3);
      }
      for (; from < to; ++from) s0 += term(from);
      return (s0 + s1) + (s2 + s3);
    };
    const auto zero =
        static_cast<std::size_t>(std::lower_bound(d.at.begin(), d.at.end(), offset) - d.at.begin());
    const double cell_up = primitive_(grid_.up) - primitive_(grid_.up - 1);
    const double cell_down = primitive_(-grid_.down) - primitive_(-grid_.down - 1);
    return part(0, zero, shift_down(), cell_down) + part(zero, d.at.size(), shift_up(), cell_up);
  }

  [[nodiscard]] double level_density(const Steps& d, double inverse) const {
    if (!d.at.empty() && !representable(d.at.front() * inverse, d.at.back() * inverse))
      return std::numeric_limits<double>::infinity();
    double sum = 0;
    std::size_t k = 0;
    for (std::size_t i = 0; i < d.at.size(); ++i) {
      const double t = d.at[i] * inverse;
      k = level_of(t, k);
      sum += d.drop[i] * (cells_[k] + primitive_(t - table_->levels[k]));
    }
    return sum;
  }

  // |t - Q(t)|
  [[nodiscard]] double distance(double t, const Levels& a) const {
    if (grid_.is_integer) {
      const double lo = grid_.codes.min - a.zero_point, hi = grid_.codes.max - a.zero_point;
      return std::abs(t - nearest(std::clamp(t + (t < 0 ? shift_down() : shift_up()), lo, hi)));
    }
    if (!representable(t, t)) return std::numeric_limits<double>::infinity();
    return std::abs(t - table_->levels[level_of(t, 0)]);
  }

  [[nodiscard]] bool representable(double lo, double hi) const noexcept {
    return lo >= table_->lowest && hi <= table_->highest;
  }
  // Which level t becomes, none before level k: mostly that one or one of the next.
  [[nodiscard]] std::size_t level_of(double t, std::size_t k) const {
    const std::vector<double>& at = table_->thresholds;
    for (int tried = 0; tried < 8; ++tried, ++k)
      if (k >= at.size() || !(at[k] < t)) return k;
    return static_cast<std::size_t>(
        std::lower_bound(at.begin() + static_cast<std::ptrdiff_t>(k), at.end(), t) - at.begin());
  }

  [[nodiscard]] double shift_up() const noexcept { return 0.5 - grid_.up; }
  [[nodiscard]] double shift_down() const noexcept { return -0.5 - grid_.down; }
  // To the nearest integer, for magnitudes below 2^51. Ties do not matter: U is continuous.
  [[nodiscard]] static double nearest(double x) noexcept { return (x + 0x1.8p52) - 0x1.8p52; }

  QuantizerGrid grid_;
  double unit_, width_, norm_;
  Primitive primitive_;
  Steps rough_, exact_;
  const LevelTable* table_ = nullptr;
  std::vector<double> cells_;  // the integral from level 0 to each
};

}  // namespace tq::detail

// SPDX-License-Identifier: MIT
#pragma once
// LearnedStep (LSQ) and LearnedStepPlus (LSQ+): the scale is trained with the weights, and with it
// an offset.

#include <tq/calibrate/range_for.hpp>
#include <tq/observe/concepts.hpp>
#include <tq/train/detail/learned_scale.hpp>
#include <tq/train/gradient.hpp>
#include <tq/train/straight_through.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string_view>

namespace tq {

namespace detail {

// 1 / sqrt(N Q_P) with N elements per scale: steps of scales are then as large, relative to them,
// as those of weights.
[[nodiscard]] inline double step_gradient_scale(std::size_t n, kernels::Bounds b) noexcept {
  return n == 0 ? 0.0
                : 1.0 / std::sqrt(static_cast<double>(n) *
                                  static_cast<double>(std::max(b.high, 1.0f)));
}

// The range up to `top` on both sides of 0, or all numbers.
[[nodiscard]] constexpr Range reaching(double top) noexcept {
  const auto reach = static_cast<float>(std::min(top, double(std::numeric_limits<float>::max())));
  return {-reach, reach};
}

}  // namespace detail

/// Learned step size: with v = x / s, dy/ds is round(v) - v where the value lies within the codes
/// and the code of the end where it does not, dy/dx is 1 and 0; the gradient of s is scaled by 1 /
/// sqrt(N Q_P), with N elements per scale. Start with LearnedStepCalibrator. Source: Esser et al.
/// 2019, arXiv:1902.08153.
template <ScaleParameter Scale = GuardedScale>
struct LearnedStep : StrictStraightThrough {
  static constexpr std::string_view name = "learned_step";
  static constexpr int learned = 1;
  template <AnyParams Params>
  static constexpr bool allows = !Params::has_zero_point;

  template <class Point>
  static auto scale(const Point& p) noexcept {
    return p.code - p.within(p.value);  // outside, the code is that of the end
  }

  static Learned start(Affine a, kernels::Bounds) noexcept {
    return {Scale::parameter(a.scale), 0};
  }
  static Affine affine(Learned at, kernels::Bounds b) noexcept {
    return {detail::finite_step(Scale::scale(at.first), b), 0};
  }
  static Learned gradient(Learned at, kernels::Bounds b, SlotSums sums, std::size_t n) noexcept {
    const auto ds = static_cast<float>(sums.scale * detail::step_gradient_scale(n, b));
    return {ds * Scale::slope(Scale::scale(at.first)), 0};
  }
  static Learned keep(Learned before, Learned after, kernels::Bounds) noexcept {
    return {Scale::keep(before.first, after.first), 0};
  }
};

/// Learned step size and offset: y = s * round(clamp((x - beta) / s)) + beta, where beta is learned
/// and what is used is the nearest beta at which real 0 has a code. dy/ds is round - value within
/// the codes and the end's code outside, dy/dbeta is 0 and 1; both are scaled as by LearnedStep.
/// The second learned parameter is beta, in the units of x, to which code 0 belongs. Source:
/// Bhalgat et al. 2020, arXiv:2004.09576.
template <ScaleParameter Scale = GuardedScale>
struct LearnedStepPlus : StrictStraightThrough {
  static constexpr std::string_view name = "learned_step_plus";
  static constexpr int learned = 2;

  template <class Point>
  static auto scale(
      const Point& p) noexcept {  // the end's code, not its distance from the zero point
    return p.by_value(p.code - p.value, p.low + p.zero_point, p.high + p.zero_point);
  }
  template <class Point>
  static auto offset(const Point& p) noexcept {
    return p.by_value(p.zero(), p.one(), p.one());
  }

  static Learned start(Affine a, kernels::Bounds) noexcept {
    return {Scale::parameter(a.scale), -static_cast<float>(a.zero_point) * a.scale};
  }
  static Affine affine(Learned at, kernels::Bounds b) noexcept {
    return detail::finite_affine(Scale::scale(at.first), b, [&](float scale) {
      return detail::nearest_code(-at.second / scale, b);
    });
  }
  static Learned gradient(Learned at, kernels::Bounds b, SlotSums sums, std::size_t n) noexcept {
    const double factor = detail::step_gradient_scale(n, b);
    return {static_cast<float>(sums.scale * factor) * Scale::slope(Scale::scale(at.first)),
            static_cast<float>(sums.offset * factor)};
  }
  static Learned keep(Learned before, Learned after, kernels::Bounds) noexcept {
    return {Scale::keep(before.first, after.first), after.second};
  }
};

/// Where LearnedStep starts: the range whose scale is 2 mean|x| / sqrt(Q_P). Source: as
/// LearnedStep, section 2.1.
struct LearnedStepCalibrator {
  template <AnyParams Params, NumericsPolicy N, MeanAbsAccumulator Acc>
    requires(!Params::has_zero_point)
  [[nodiscard]] Range range(const Acc& seen) const noexcept {
    const float top = detail::code_bounds<Params>().high;
    return detail::reaching(2 * seen.mean_abs() * std::sqrt(static_cast<double>(top)));
  }
};

/// Where LearnedStepPlus starts for weights: the range of the mean and three standard deviations to
/// both sides. Source: as LearnedStepPlus, section 4.
struct LearnedStepPlusCalibrator {
  template <AnyParams Params, NumericsPolicy N, MomentAccumulator Acc>
  [[nodiscard]] Range range(const Acc& seen) const noexcept {
    const double three = 3 * std::sqrt(seen.variance());
    return detail::reaching(
        std::max(std::fabs(seen.mean() - three), std::fabs(seen.mean() + three)));
  }
};

}  // namespace tq

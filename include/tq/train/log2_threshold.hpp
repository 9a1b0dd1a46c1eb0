// SPDX-License-Identifier: MIT
#pragma once
// Log2Threshold (TQT): scales that are powers of two, trained by the logarithm of the clipping
// threshold.

#include <tq/train/detail/learned_scale.hpp>
#include <tq/train/gradient.hpp>
#include <tq/train/straight_through.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>

namespace tq {

/// s = 2^ceil(log2 t) / 2^(b-1) (2^b for unsigned codes), log2 t learned: by the rounded value,
/// dy/dlog2 t is s ln 2 times round(v) - v where it has a code and times the end's code where not.
/// Scales are positive by construction. Source: Jain et al. 2019, arXiv:1903.08066.
struct Log2Threshold : ClippedStraightThrough {
  static constexpr std::string_view name = "log2_threshold";
  static constexpr int learned = 1;
  template <AnyParams Params>
  static constexpr bool allows = IntegerParams<Params> && !Params::has_zero_point;

  template <class Point>
  static auto scale(const Point& p) noexcept {
    return p.code - p.unless_clipped(p.value);  // outside, the code is that of the end
  }

  static Learned start(Affine a, kernels::Bounds b) noexcept {
    return {std::log2(a.scale) + levels(b), 0};
  }
  static Affine affine(Learned at, kernels::Bounds b) noexcept {
    return {LogScale::scale(std::min(std::ceil(at.first) - levels(b), most(b))), 0};
  }
  static Learned gradient(Learned at, kernels::Bounds b, SlotSums sums, std::size_t) noexcept {
    return {static_cast<float>(sums.scale) * LogScale::slope(affine(at, b).scale), 0};
  }
  static Learned keep(Learned, Learned after, kernels::Bounds b) noexcept {
    return {std::clamp(after.first, LogScale::least + levels(b), most(b) + levels(b)), 0};
  }

 private:
  static float levels(kernels::Bounds b) noexcept { return std::ceil(std::log2(b.high + 1)); }
  // The exponent of the largest scale with which every code is finite.
  static float most(kernels::Bounds b) noexcept {
    return static_cast<float>(std::ilogb(detail::finite_step(LogScale::scale(LogScale::most), b)));
  }
};

}  // namespace tq

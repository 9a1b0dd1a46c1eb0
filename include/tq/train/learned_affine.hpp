// SPDX-License-Identifier: MIT
#pragma once
// LearnedAffine: PyTorch's learnable scale and zero point.

#include <tq/train/detail/learned_scale.hpp>
#include <tq/train/gradient.hpp>
#include <tq/train/straight_through.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace tq {

/// Scale and zero point z are learned; z as a real number that is rounded and clamped to the codes
/// to quantize with. By the rounded value: dy/ds = q - x / s and dy/dz = 0 where it has a code q
/// (less z), the end's code less z and -s where not. With numerics::torch as
/// torch._fake_quantize_learnable_per_tensor_affine and _per_channel_affine, for a gradient factor
/// of 1.
template <ScaleParameter Scale = GuardedScale>
struct LearnedAffine : ClippedStraightThrough {
  static constexpr std::string_view name = "learned_affine";
  static constexpr int learned = 2;

  template <class Point>
  static auto scale(const Point& p) noexcept {
    return p.code - p.unless_clipped(p.value);  // outside, the code is that of the end
  }
  template <class Point>
  static auto offset(const Point& p) noexcept {
    return p.where_clipped(-p.scale);
  }

  static Learned start(Affine a, kernels::Bounds) noexcept {
    return {Scale::parameter(a.scale), static_cast<float>(a.zero_point)};
  }
  static Affine affine(Learned at, kernels::Bounds b) noexcept {
    return detail::finite_affine(Scale::scale(at.first), b,
                                 [&](float) { return detail::nearest_code(at.second, b); });
  }
  static Learned gradient(Learned at, kernels::Bounds, SlotSums sums, std::size_t) noexcept {
    return {static_cast<float>(sums.scale) * Scale::slope(Scale::scale(at.first)),
            static_cast<float>(sums.offset)};
  }
  static Learned keep(Learned before, Learned after, kernels::Bounds b) noexcept {
    return {Scale::keep(before.first, after.first), std::clamp(after.second, b.low, b.high)};
  }
};

}  // namespace tq

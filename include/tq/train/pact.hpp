// SPDX-License-Identifier: MIT
#pragma once
// Pact: activations are clipped where training says.

#include <tq/train/detail/learned_scale.hpp>
#include <tq/train/gradient.hpp>

#include <cstddef>
#include <string_view>

namespace tq {

/// y = clamp(x, 0, alpha) quantized to unsigned codes, alpha learned: dy/dx = 1 for 0 <= x < alpha,
/// dy/dalpha = 1 for x >= alpha, both 0 elsewhere, compared in steps: x / s with 0 and qmax. The
/// scale s is alpha / qmax. Decay alpha as you would a weight (the paper's L2 term). Source: Choi
/// et al. 2018, arXiv:1805.06085.
template <ScaleParameter Scale = GuardedScale>
struct Pact {
  static constexpr std::string_view name = "pact";
  static constexpr int learned = 1;
  template <AnyParams Params>
  static constexpr bool allows =
      IntegerParams<Params> && !Params::has_zero_point && Params::codes.min == 0;

  template <class Point>
  static auto input(const Point& p) noexcept {
    return Point::select(p.value >= p.zero(), p.by_value(p.upstream, p.upstream, p.zero()),
                         p.zero());
  }
  /// Per unit of alpha: the scale is no parameter of its own.
  template <class Point>
  static auto scale(const Point& p) noexcept {
    return p.by_value(p.zero(), p.zero(), p.one());
  }

  static Learned start(Affine a, kernels::Bounds b) noexcept {
    return {Scale::parameter(a.scale * b.high), 0};
  }
  static Affine affine(Learned at, kernels::Bounds b) noexcept {
    return {Scale::scale(at.first) / b.high, 0};
  }
  static Learned gradient(Learned at, kernels::Bounds, SlotSums sums, std::size_t) noexcept {
    return {static_cast<float>(sums.scale) * Scale::slope(Scale::scale(at.first)), 0};
  }
  static Learned keep(Learned before, Learned after, kernels::Bounds b) noexcept {
    const float kept = Scale::keep(before.first, after.first), least = 0x1p-126f * b.high;
    return {Scale::scale(kept) < least ? Scale::parameter(least) : kept,
            0};  // alpha / qmax is a normal float too
  }
};

}  // namespace tq

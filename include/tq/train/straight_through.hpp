// SPDX-License-Identifier: MIT
#pragma once
// Straight-through gradients: rounding is taken for the identity.

#include <tq/config.hpp>

#include <string_view>

namespace tq {

/// dL/dx = dL/dy, everywhere. Source: Bengio, Leonard, Courville 2013, arXiv:1308.3432.
struct StraightThrough {
  static constexpr std::string_view name = "straight_through";
  static constexpr int learned = 0;
  template <class Point>
  static auto input(const Point& p) noexcept {
    return p.upstream;
  }
};

/// dL/dx = dL/dy where the rounded value has a code, qmin <= round(x / s) + z <= qmax, and 0 where
/// it is clipped, as for NaN. Of float elements and code books: where x / s is not beyond their
/// values. Source: torch.fake_quantize_per_tensor_affine.
struct ClippedStraightThrough {
  static constexpr std::string_view name = "clipped_straight_through";
  static constexpr int learned = 0;
  template <class Point>
  static auto input(const Point& p) noexcept {
    return p.unless_clipped(p.upstream);
  }
};

/// The same by the value before rounding: dL/dx = dL/dy where qmin < x / s + z < qmax, and 0
/// elsewhere, at the ends too.
struct StrictStraightThrough {
  static constexpr std::string_view name = "strict_straight_through";
  static constexpr int learned = 0;
  template <class Point>
  static auto input(const Point& p) noexcept {
    return p.within(p.upstream);
  }
};

}  // namespace tq

// SPDX-License-Identifier: MIT
#pragma once
// Ewgs: gradients that know on which side of its code a value lies.

#include <tq/train/gradient.hpp>

#include <ratio>
#include <string_view>

namespace tq {

/// Element-wise gradient scaling on top of another gradient: dL/dx of `Base` times 1 + delta
/// sign(dL/dy) (x - y), with x - y in units of the range of the codes. What `Base` learns is
/// learned as by it. Source: Lee, Kim, Ham 2021, arXiv:2104.00903.
template <GradientPolicy Base, class Delta = std::ratio<1, 5>>
struct Ewgs : Base {
  static constexpr std::string_view name = "ewgs";

  template <class Point>
  static auto input(const Point& p) noexcept {
    const auto away = (p.value - p.code) / (p.high - p.low) *
                      (static_cast<float>(Delta::num) / static_cast<float>(Delta::den));
    const auto factor = Point::select(p.upstream >= p.zero(), p.one() + away, p.one() - away);
    return Base::input(p) * Point::select(p.inside, factor, p.one());
  }
};

}  // namespace tq

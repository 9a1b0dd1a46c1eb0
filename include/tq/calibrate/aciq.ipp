// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/calibrate/aciq.hpp.

#include <tq/calibrate/aciq.hpp>

namespace tq {

TQ_CORE_API double Gauss::excess(double x) noexcept {
  return std::exp(-x * x / 2) / std::sqrt(2 * 3.141592653589793) - x * tail(x);
}

namespace detail {

TQ_CORE_API double analytic_clip(const QuantizerGrid& grid, const FittedPrior& prior) {
  const double codes = static_cast<double>(grid.codes.max) - grid.codes.min + 1,
               centre = prior.mean / prior.spread;
  const bool one_sided = grid.by == Decides::top;
  const double sides = one_sided ? 1 : 2;
  const double share = !one_sided ? 1 : centre > 0 ? 1 - prior.tail(centre) : prior.tail(-centre);
  const auto slope = [&](double a) {
    const double lo = prior.mean - a, hi = prior.mean + a;
    double length = 2 * (std::abs(prior.mean) + a), growth = 2;
    if (one_sided || grid.by == Decides::ends) {
      const bool up = hi > 0, down = !one_sided && lo < 0;
      length = (up ? hi : 0.0) - (down ? lo : 0.0);
      growth = (up ? 1 : 0) + (down ? 1 : 0);
    }
    return share * length * growth / (6 * codes * codes) -
           2 * sides * prior.spread * prior.excess(a / prior.spread);
  };
  double lo = 0, hi = 64 * prior.spread;
  for (int i = 0; i < 64; ++i) {
    const double middle = lo + (hi - lo) / 2;
    (slope(middle) < 0 ? lo : hi) = middle;
  }
  return lo;
}

}  // namespace detail

}  // namespace tq

// SPDX-License-Identifier: MIT
#pragma once
// Real: a double whose products are rounded before they are added, on every instruction set.

#include <tq/numeric/rounding.hpp>

#include <algorithm>
#include <cmath>

namespace tq::layouts::gguf::detail {

struct Real {
  double value = 0.0;

  constexpr Real() = default;
  constexpr Real(double v) noexcept : value(v) {}

  friend Real operator+(Real a, Real b) noexcept { return a.value + b.value; }
  friend Real operator-(Real a, Real b) noexcept { return a.value - b.value; }
  friend Real operator*(Real a, Real b) noexcept {
    return tq::detail::uncontracted(a.value * b.value);
  }
  friend Real operator/(Real a, Real b) noexcept { return a.value / b.value; }
  friend bool operator<(Real a, Real b) noexcept { return a.value < b.value; }
  friend bool operator>(Real a, Real b) noexcept { return a.value > b.value; }
};

[[nodiscard]] inline Real larger(Real a, Real b) noexcept { return std::max(a.value, b.value); }
[[nodiscard]] inline Real inverse(Real v) noexcept { return v > 0.0 ? 1.0 / v : Real(); }

// The integer nearest to v within [low, high].
[[nodiscard]] inline int rounded_in(Real v, int low, int high) noexcept {
  return static_cast<int>(
      std::clamp(std::nearbyint(v.value), static_cast<double>(low), static_cast<double>(high)));
}

}  // namespace tq::layouts::gguf::detail

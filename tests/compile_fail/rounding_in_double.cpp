// expect: Rounding
// SPDX-License-Identifier: MIT
#include <tq/numeric/numerics.hpp>

#include <cmath>

struct InDouble {
  static constexpr std::string_view name = "in_double";
  double operator()(double v, std::uint64_t) const noexcept { return std::nearbyint(v); }
};
tq::Numerics<InDouble> numerics;

// SPDX-License-Identifier: MIT
#pragma once
// The natural logarithm, for sums of many.

#include <tq/config.hpp>

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace tq::detail {

/// log of positive normal numbers with an error below 1e-12: by a table of 128 parts of each
/// binade, and log(1 + r) = r - r^2 / 2 + r^3 / 3 - r^4 / 4 for the rest.
class Logarithm {
 public:
  Logarithm() {
    for (std::size_t i = 0; i < parts; ++i) {
      const double centre = 1 + (static_cast<double>(i) + 0.5) / parts;
      inverse_[i] = 1 / centre;
      log_[i] = -std::log(inverse_[i]);
    }
  }
  [[nodiscard]] double operator()(double x) const noexcept {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    const auto part = static_cast<std::size_t>(bits >> 45) & (parts - 1);
    const double significand =
        std::bit_cast<double>((bits & 0xfffffffffffffu) | 0x3ff0000000000000u);
    const double r = significand * inverse_[part] - 1;
    const double exponent = static_cast<double>(static_cast<int>(bits >> 52) - 1023);
    return exponent * 0.6931471805599453 + log_[part] +
           r * (1 - r * (1.0 / 2 - r * (1.0 / 3 - r * (1.0 / 4))));
  }

 private:
  static constexpr std::size_t parts = 128;
  std::array<double, parts> inverse_, log_;
};

}  // namespace tq::detail

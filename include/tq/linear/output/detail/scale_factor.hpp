// SPDX-License-Identifier: MIT
#pragma once
// float_factor, double_factor: the factor of sums, in the arithmetic of peers.

#include <tq/config.hpp>

namespace tq::detail {

// scale of x * scale of weights / scale of the output, each operation rounded to float32.
[[nodiscard]] inline double float_factor(float x, float w, float y) noexcept {
  return static_cast<double>(x * w / y);
}
// The same in double.
[[nodiscard]] inline double double_factor(float x, float w, float y) noexcept {
  return static_cast<double>(x) * static_cast<double>(w) / static_cast<double>(y);
}

}  // namespace tq::detail

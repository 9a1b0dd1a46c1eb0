// SPDX-License-Identifier: MIT
#pragma once
// The arrays that gradients of fake quantization are made of and written to, and rows of them.

#include <tq/config.hpp>

#include <cstddef>
#include <cstdint>

namespace tq::kernels {

/// The arrays of a backward pass. `y` is the output of fake quantization and only read for coded
/// elements. gx may be gy.
struct Gradients {
  const float* x;
  const float* y;
  const float* gy;
  float* gx;

  [[nodiscard]] TQ_FORCE_INLINE Gradients from(std::ptrdiff_t in_x, std::ptrdiff_t in_y,
                                               std::ptrdiff_t in_gy,
                                               std::ptrdiff_t in_gx) const noexcept {
    return {x + in_x, y != nullptr ? y + in_y : nullptr, gy + in_gy, gx + in_gx};
  }
};

/// `count` rows of `length` neighbours. Rows begin so many elements apart in the arrays, and in the
/// indices that draws depend on. Element i of row r has parameter r * param_row + i * param_step,
/// where the step is 0 or 1, and adds to sum r * sum_row + i * sum_step. Zero points may be null.
struct GradientRows {
  std::size_t length = 0, count = 1;
  std::ptrdiff_t x = 0, y = 0, gy = 0, gx = 0, draw_step = 0;
  const float* scale = nullptr;
  const std::int32_t* zero_point = nullptr;
  std::size_t param_row = 0, param_step = 0, sum_row = 0, sum_step = 0;
};

/// The sums that rows add to: of dL/dy times the factors of the policy, from the sum of the first
/// element on. Null for parameters that the policy does not learn.
struct ParameterSums {
  double* scale;
  double* offset;

  [[nodiscard]] TQ_FORCE_INLINE ParameterSums from(std::size_t i) const noexcept {
    return {scale != nullptr ? scale + i : nullptr, offset != nullptr ? offset + i : nullptr};
  }
};

}  // namespace tq::kernels

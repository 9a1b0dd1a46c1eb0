// SPDX-License-Identifier: MIT
#pragma once
// row_losses: the losses of all rows of a matrix of weights.

#include <tq/core/executor.hpp>
#include <tq/kernels/product_sums.hpp>
#include <tq/ptq/detail/damped_hessian.hpp>
#include <tq/ptq/detail/row_loss.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tq::detail {

/// The losses of `outputs` rows of errors: error(i) is that of element i, row by row.
template <class Arch, class Error, Executor E>
[[nodiscard]] std::vector<RowLoss> row_losses(const DampedHessian& h, std::size_t outputs,
                                              const Error& error, const E& executor) {
  constexpr std::size_t rows = kernels::product_rows;
  const std::size_t n = h.inputs();
  std::vector<RowLoss> out(outputs);
  executor((outputs + rows - 1) / rows, [&](std::size_t s) {
    const std::size_t first = s * rows, count = std::min(rows, outputs - first);
    std::vector<double> errors(rows * n), slopes(rows * n);
    for (std::size_t i = 0; i < count * n; ++i) errors[i] = error(first * n + i);
    h.slopes<Arch>(errors.data(), slopes.data());
    for (std::size_t r = 0; r < count; ++r)
      out[first + r] = h.loss(errors.data() + r * n, slopes.data() + r * n);
  });
  return out;
}

}  // namespace tq::detail

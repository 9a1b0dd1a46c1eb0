// SPDX-License-Identifier: MIT
#pragma once
// DampedHessian: H + lambda I as rows of float64, and products of errors with it.

#include <tq/core/buffer.hpp>
#include <tq/core/executor.hpp>
#include <tq/kernels/product_sums.hpp>
#include <tq/numeric/rounding.hpp>
#include <tq/ptq/detail/row_loss.hpp>
#include <tq/ptq/factor.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tq::detail {

/// H + lambda I, as rows of float64.
class DampedHessian {
 public:
  template <HessianMatrix H, Executor E>
  DampedHessian(const H& h, double lambda, const E& executor)
      : n_(h.inputs()), lambda_(lambda), rows_(n_ * n_) {
    executor(n_, [&](std::size_t i) {
      for (std::size_t j = 0; j < n_; ++j) rows_.data()[i * n_ + j] = h(i, j);
      rows_.data()[i * n_ + i] += lambda;
    });
  }
  [[nodiscard]] std::size_t inputs() const noexcept { return n_; }
  [[nodiscard]] double lambda() const noexcept { return lambda_; }
  [[nodiscard]] const double* row(std::size_t i) const noexcept { return rows_.data() + i * n_; }

  /// The products of `product_rows` rows of errors with the matrix, each row `inputs()` numbers:
  /// half of the slopes of their losses. The bits are the same on every instruction set.
  template <class Arch>
  void slopes(const double* errors, double* out) const {
    constexpr std::size_t size = kernels::product_rows;
    std::vector<double> factors(n_ * size);
    for (std::size_t c = 0; c < n_; ++c)
      for (std::size_t r = 0; r < size; ++r) factors[c * size + r] = errors[r * n_ + c];
    std::fill_n(out, size * n_, 0.0);
    kernels::SumRows sums;
    for (std::size_t r = 0; r < size; ++r) sums[r] = out + r * n_;
    kernels::add_products<Arch, kernels::Product::rounded>(factors.data(), row(0), n_, n_, sums,
                                                           n_);
  }

  /// The losses of a row of errors with these slopes.
  [[nodiscard]] RowLoss loss(const double* errors, const double* slopes) const noexcept {
    double damped = 0, squares = 0;
    for (std::size_t c = 0; c < n_; ++c) {
      damped += uncontracted(errors[c] * slopes[c]);
      squares += uncontracted(errors[c] * errors[c]);
    }
    return {damped, std::max(damped - uncontracted(lambda_ * squares), 0.0)};
  }

 private:
  std::size_t n_;
  double lambda_;
  Buffer<double> rows_;
};

}  // namespace tq::detail

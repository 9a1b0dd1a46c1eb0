// SPDX-License-Identifier: MIT
#pragma once
// FactorSolver: rows y with y (H + lambda I) = b, by the factor of H + lambda I.

#include <tq/core/buffer.hpp>
#include <tq/kernels/product_sums.hpp>
#include <tq/ptq/detail/damped_hessian.hpp>
#include <tq/ptq/detail/feedback.hpp>
#include <tq/ptq/factor.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tq::detail {

/// Solves for `rows` rows at once. The factor is float32, so a few steps of refinement follow,
/// whose residuals are float64: the bits are the same on every instruction set.
template <class Arch>
class FactorSolver {
 public:
  static constexpr std::size_t rows = kernels::product_rows;

  /// The factor and the matrix must outlive the object.
  FactorSolver(const HessianFactor& factor, const DampedHessian& h)
      : factor_(factor),
        h_(h),
        forward_(factor, rows),
        behind_(factor.inputs() * rows),
        coefficients_(factor.inputs() * rows),
        residuals_(factor.inputs() * rows) {}

  /// Writes y to `out`; b and y are `rows` rows of inputs.
  void solve(const double* b, double* out) {
    constexpr int refinements = 3;
    const std::size_t n = h_.inputs();
    std::copy_n(b, rows * n, residuals_.data());
    std::fill_n(out, rows * n, 0.0);
    for (int step = 0; step <= refinements; ++step) {
      if (step > 0) {
        h_.slopes<Arch>(out, residuals_.data());
        for (std::size_t i = 0; i < rows * n; ++i) residuals_[i] = b[i] - residuals_[i];
      }
      solve_by_factor();
      for (std::size_t i = 0; i < rows * n; ++i) out[i] += residuals_[i];
    }
  }

 private:
  static constexpr std::size_t size = HessianFactor::panel_columns;

  // The residuals become the solutions of y U D U^T = residuals: first z U^T, from the last place
  // on, then y U = z / D. Factors are float32 numbers, so that products are exact.
  void solve_by_factor() {
    const std::size_t n = h_.inputs(), panels = (n + size - 1) / size;
    for (std::size_t place = 0; place < n; ++place)
      for (std::size_t r = 0; r < rows; ++r)
        behind_.data()[place * rows + r] = residuals_[r * n + factor_.order()[place]];
    for (std::size_t p = panels; p-- > 0;) finish_panel(p * size, std::min(size, n - p * size));
    forward_.restart();
    for (std::size_t place = 0; place < n; ++place)
      for (std::size_t r = 0; r < rows; ++r)
        forward_.target(place)[r] = behind_.data()[place * rows + r] / factor_.pivots()[place];
    for (std::size_t place = 0; place < n; ++place) {
      const double* best = forward_.best(place);
      for (std::size_t r = 0; r < rows; ++r) {
        const auto y = static_cast<float>(best[r]);
        forward_.errors(place)[r] = -static_cast<double>(y);
        residuals_[r * n + factor_.order()[place]] = static_cast<double>(y);
      }
    }
  }

  // z of `width` places from `first` on, after those behind them.
  void finish_panel(std::size_t first, std::size_t width) {
    const std::size_t n = h_.inputs(), end = first + width;
    for (std::size_t k = end; k < n; ++k)
      for (std::size_t r = 0; r < width; ++r)
        coefficients_.data()[(k - end) * size + r] = -double{factor_.coefficient(first + r, k)};
    kernels::SumRows sums;
    for (std::size_t r = 0; r < size; ++r)
      sums[r] = r < width ? behind_.data() + (first + r) * rows : unused_;
    kernels::add_products<Arch, kernels::Product::exact>(
        coefficients_.data(), behind_.data() + end * rows, rows, n - end, sums, rows);
    for (std::size_t j = end; j-- > first;)
      for (std::size_t r = 0; r < rows; ++r) {
        double& z = behind_.data()[j * rows + r];
        for (std::size_t k = j + 1; k < end; ++k)
          z -= double{factor_.coefficient(j, k)} * behind_.data()[k * rows + r];  // exact
        z = static_cast<float>(z);
      }
  }

  const HessianFactor& factor_;
  const DampedHessian& h_;
  Feedback<Arch> forward_;
  Buffer<double> behind_, coefficients_;
  std::vector<double> residuals_;
  double unused_[rows]{};
};

}  // namespace tq::detail

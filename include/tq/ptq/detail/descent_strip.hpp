// SPDX-License-Identifier: MIT
#pragma once
// DescentStrip: some rows of codes, with the slope of their losses.

#include <tq/core/buffer.hpp>
#include <tq/core/executor.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/kernels/product_sums.hpp>
#include <tq/numeric/rounding.hpp>
#include <tq/ptq/detail/gptq_strip.hpp>
#include <tq/ptq/factor.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
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

 private:
  std::size_t n_;
  double lambda_;
  Buffer<double> rows_;
};

/// The losses of a row before and after.
struct DescentLosses {
  double damped_before = 0;
  RowLoss after;
};

/// Up to `rows` rows: errors E = W - W', and R = E (H + lambda I), half of their losses' slopes.
/// `Grid` rounds the numbers of all rows, as that of a GptqStrip.
template <class Grid, class Arch>
class DescentStrip {
 public:
  using grid_type = Grid;
  using code_type = typename Grid::code_type;
  static constexpr std::size_t rows = 48;

  /// Precondition: the grid has `rows` lanes.
  DescentStrip(const DampedHessian& h, const ConstTensorView& weights, const float* values,
               const Grid& grid, std::size_t first, std::size_t count)
      : h_(h),
        first_(first),
        count_(count),
        grid_(grid),
        values_(rows * h.inputs()),
        errors_(rows * h.inputs()),
        slopes_(rows * h.inputs()) {
    const std::size_t n = h.inputs();
    for (std::size_t r = 0; r < count; ++r)
      for (std::size_t c = 0; c < n; ++c) {
        const float w = weights.data()[static_cast<std::ptrdiff_t>(first + r) * weights.stride(0) +
                                       static_cast<std::ptrdiff_t>(c) * weights.stride(1)];
        values_[r * n + c] = values[(first + r) * n + c];
        errors_[r * n + c] = static_cast<double>(w) - static_cast<double>(values_[r * n + c]);
      }
    for (std::size_t r = 0; r < rows; r += kernels::product_rows) make_slopes(r);
  }

  /// Changes codes, by columns in `order`, and returns how many.
  template <class Groups>
  std::size_t sweep(std::span<const std::uint32_t> order, const Groups& groups, code_type* codes) {
    std::size_t changed = 0, group = ~std::size_t{0};
    for (const std::uint32_t column : order) {
      if (groups.group(column) != group) {
        group = groups.group(column);
        for (std::size_t r = 0; r < count_; ++r) grid_.set(r, groups.affine(first_ + r, group));
      }
      changed += change(column, codes);
    }
    return changed;
  }

  [[nodiscard]] RowLoss loss(std::size_t r) const noexcept {
    const std::size_t n = h_.inputs();
    double damped = 0, squares = 0;
    for (std::size_t c = 0; c < n; ++c) {
      const double e = errors_[r * n + c];
      damped += uncontracted(e * slopes_[r * n + c]);
      squares += uncontracted(e * e);
    }
    return {damped, std::max(damped - uncontracted(h_.lambda() * squares), 0.0)};
  }

 private:
  void make_slopes(std::size_t r) {
    constexpr std::size_t size = kernels::product_rows;
    const std::size_t n = h_.inputs();
    std::vector<double> factors(n * size);
    for (std::size_t c = 0; c < n; ++c)
      for (std::size_t i = 0; i < size; ++i) factors[c * size + i] = errors_[(r + i) * n + c];
    kernels::SumRows sums;
    for (std::size_t i = 0; i < size; ++i) sums[i] = slopes_.data() + (r + i) * n;
    kernels::add_products<Arch, kernels::Product::rounded>(factors.data(), h_.row(0), n, n, sums,
                                                           n);
  }

  std::size_t change(std::size_t column, code_type* codes) {
    const std::size_t n = h_.inputs();
    const double* h = h_.row(column);
    alignas(64) float x[rows]{}, values[rows];
    code_type rounded[rows];
    for (std::size_t r = 0; r < count_; ++r)
      x[r] = static_cast<float>(static_cast<double>(values_[r * n + column]) +
                                slopes_[r * n + column] / h[column]);
    grid_.round(x, rounded, values);
    std::size_t changed = 0;
    for (std::size_t r = 0; r < count_; ++r) {
      code_type& code = codes[(first_ + r) * n + column];
      if (rounded[r] == code) continue;
      const double less =
          static_cast<double>(values_[r * n + column]) - static_cast<double>(values[r]);
      if (less == 0) continue;  // another code of the same value
      code = rounded[r];
      ++changed;
      values_[r * n + column] = values[r];
      errors_[r * n + column] += less;
      double* slopes = slopes_.data() + r * n;
      for (std::size_t c = 0; c < n; ++c) slopes[c] += uncontracted(less * h[c]);
    }
    return changed;
  }

  const DampedHessian& h_;
  std::size_t first_, count_;
  Grid grid_;
  std::vector<float> values_;
  std::vector<double> errors_, slopes_;
};

}  // namespace tq::detail

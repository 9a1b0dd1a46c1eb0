// SPDX-License-Identifier: MIT
#pragma once
// DescentStrip: some rows of codes, with the slope of their losses.

#include <tq/core/tensor_view.hpp>
#include <tq/kernels/product_sums.hpp>
#include <tq/numeric/rounding.hpp>
#include <tq/ptq/detail/damped_hessian.hpp>
#include <tq/ptq/detail/row_loss.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tq::detail {

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
    for (std::size_t r = 0; r < rows; r += kernels::product_rows)
      h.template slopes<Arch>(errors_.data() + r * n, slopes_.data() + r * n);
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
    return h_.loss(errors_.data() + r * h_.inputs(), slopes_.data() + r * h_.inputs());
  }

 private:
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

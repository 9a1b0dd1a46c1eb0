// SPDX-License-Identifier: MIT
#pragma once
// RefitStrip: the best scales of some rows whose codes stay.

#include <tq/core/quant_params.hpp>
#include <tq/kernels/product_sums.hpp>
#include <tq/numeric/rounding.hpp>
#include <tq/ptq/detail/damped_hessian.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace tq::detail {

/// Solves A x = b for a symmetric positive definite A of `n` rows, and writes x to `b`. Returns
/// false for a matrix that is singular as far as float64 can tell.
[[nodiscard]] inline bool solve_in_place(std::vector<double>& a, double* b, std::size_t n) {
  constexpr double epsilon = std::numeric_limits<double>::epsilon();
  for (std::size_t k = 0; k < n; ++k) {  // rows of the upper triangle: D L^T
    const double diagonal = a[k * n + k];
    for (std::size_t i = 0; i < k; ++i) {
      const double factor = a[i * n + k] / a[i * n + i];
      for (std::size_t j = k; j < n; ++j) a[k * n + j] -= uncontracted(factor * a[i * n + j]);
      b[k] -= uncontracted(factor * b[i]);
    }
    if (!(a[k * n + k] > epsilon * static_cast<double>(n) * diagonal)) return false;
  }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t j = k + 1; j < n; ++j) b[k] -= uncontracted(a[k * n + j] * b[j]);
    b[k] /= a[k * n + k];
  }
  return true;
}

/// Up to `rows` rows: with U the values of codes at scale 1, and U_g those of a group, the scales s
/// are the solution of sum_g' U_g (H + lambda I) U_g'^T s_g' = U_g (H + lambda I) w^T.
template <class Arch>
class RefitStrip {
 public:
  static constexpr std::size_t rows = kernels::product_rows;

  /// Groups are runs of `width` inputs.
  RefitStrip(const DampedHessian& h, std::size_t width)
      : h_(h),
        width_(width),
        groups_((h.inputs() + width - 1) / width),
        products_(rows * h.inputs()),
        matrices_(rows, std::vector<double>(groups_ * groups_)),
        right_(rows * groups_) {}

  /// Takes `rows` rows of weights and of values at scale 1, and the scales that they have: groups
  /// of nothing but zeros keep theirs. `scales` becomes the best scales; rows without a unique
  /// solution of positive numbers keep theirs.
  void run(const float* weights, const double* units, std::span<float> scales) {
    for (std::size_t g = 0; g < groups_; ++g) add_equation(g, weights, units, scales);
    for (std::size_t r = 0; r < rows; ++r) {
      double* x = right_.data() + r * groups_;
      if (!solve_in_place(matrices_[r], x, groups_)) continue;
      const auto is_scale = [](double s) { return s > 0 && is_finite(static_cast<float>(s)); };
      if (std::all_of(x, x + groups_, is_scale))
        std::transform(x, x + groups_, scales.data() + r * groups_,
                       [](double s) { return static_cast<float>(s); });
    }
  }

 private:
  void add_equation(std::size_t g, const float* weights, const double* units,
                    std::span<const float> scales) {
    const std::size_t n = h_.inputs(), first = g * width_, last = std::min(n, first + width_);
    std::vector<double> factors((last - first) * rows);
    for (std::size_t c = first; c < last; ++c)
      for (std::size_t r = 0; r < rows; ++r) factors[(c - first) * rows + r] = units[r * n + c];
    std::ranges::fill(products_, 0.0);
    kernels::SumRows sums;
    for (std::size_t r = 0; r < rows; ++r) sums[r] = products_.data() + r * n;
    kernels::add_products<Arch, kernels::Product::rounded>(factors.data(), h_.row(first), n,
                                                           last - first, sums, n);
    for (std::size_t r = 0; r < rows; ++r) {
      const double* p = products_.data() + r * n;
      double* a = matrices_[r].data() + g * groups_;
      double& b = right_[r * groups_ + g];
      std::fill_n(a, groups_, 0.0);
      b = 0;
      for (std::size_t c = 0; c < n; ++c) {
        a[c / width_] += uncontracted(p[c] * units[r * n + c]);
        b += uncontracted(p[c] * static_cast<double>(weights[r * n + c]));
      }
      if (a[g] == 0) a[g] = 1, b = static_cast<double>(scales[r * groups_ + g]);
    }
  }

  const DampedHessian& h_;
  std::size_t width_, groups_;
  std::vector<double> products_;
  std::vector<std::vector<double>> matrices_;
  std::vector<double> right_;
};

}  // namespace tq::detail

// SPDX-License-Identifier: MIT
#pragma once
// Feedback: the best values of columns after the errors of those before them, many rows at once.

#include <tq/core/buffer.hpp>
#include <tq/kernels/product_sums.hpp>
#include <tq/ptq/factor.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tq::detail {

/// Lanes of rows of a matrix, whose columns are rounded place by place. Errors and coefficients are
/// float32 numbers, so that their products are exact in float64, and sums take them in ascending
/// order: no blocks, threads or instructions show.
template <class Arch>
class Feedback {
 public:
  /// The factor must outlive the object.
  Feedback(const HessianFactor& factor, std::size_t lanes)
      : factor_(factor),
        lanes_(lanes),
        done_((factor.inputs() + size - 1) / size),
        best_(done_.size() * size * lanes),
        errors_(factor.inputs() * lanes),
        coefficients_(depth * size) {}

  /// Begins with other rows: write the targets of all places to `target` afterwards.
  void restart() noexcept {
    std::ranges::fill(done_, 0);
    std::fill_n(target(factor_.inputs()), (done_.size() * size - factor_.inputs()) * lanes_, 0.0);
  }
  [[nodiscard]] double* target(std::size_t place) noexcept { return best_.data() + place * lanes_; }

  /// The best values of a place, after the errors of all places before it.
  [[nodiscard]] const double* best(std::size_t place) noexcept {
    const std::size_t panel = place / size, first = panel * size;
    if (place == first) {
      if (panel % panels_at_once == 0)
        take(panel, std::min(panel + panels_at_once, done_.size()), first);
      take(panel, panel + 1, first);
    }
    double* to = target(place);
    for (std::size_t i = done_[panel]; i < place; ++i) {
      const double u = factor_.coefficient(i, place);
      const double* e = errors_.data() + i * lanes_;
      for (std::size_t c = 0; c < lanes_; ++c) to[c] += u * e[c];  // exact products
    }
    return to;
  }

  /// Takes the errors of all places before `first` into places [first, last): the targets there
  /// are then the best values that do not count on places of their own.
  void look_ahead(std::size_t first, std::size_t last) noexcept {
    take(first / size, (last + size - 1) / size, first);
  }

  /// The errors of a place once it is rounded: float32 numbers.
  [[nodiscard]] double* errors(std::size_t place) noexcept {
    return errors_.data() + place * lanes_;
  }

 private:
  static constexpr std::size_t size = HessianFactor::panel_columns, depth = 256,
                               panels_at_once = 16;

  // Takes the errors before `end` into panels [first, last).
  void take(std::size_t first, std::size_t last, std::size_t end) noexcept {
    std::size_t from = end;
    for (std::size_t p = first; p < last; ++p) from = std::min(from, done_[p]);
    for (std::size_t k = from; k < end; k += depth)
      for (std::size_t p = first; p < last; ++p)
        take_rows(p, std::max(k, done_[p]), std::min(k + depth, end));
    for (std::size_t p = first; p < last; ++p) done_[p] = std::max(done_[p], end);
  }
  void take_rows(std::size_t p, std::size_t from, std::size_t end) noexcept {
    if (from >= end) return;
    std::copy(factor_.panel(p) + from * size, factor_.panel(p) + end * size, coefficients_.data());
    kernels::SumRows sums;
    for (std::size_t r = 0; r < size; ++r) sums[r] = target(p * size + r);
    kernels::add_products<Arch, kernels::Product::exact>(coefficients_.data(), errors(from), lanes_,
                                                         end - from, sums, lanes_);
  }

  const HessianFactor& factor_;
  std::size_t lanes_;
  std::vector<std::size_t> done_;  // places whose errors a panel has
  Buffer<double> best_, errors_, coefficients_;
};

}  // namespace tq::detail

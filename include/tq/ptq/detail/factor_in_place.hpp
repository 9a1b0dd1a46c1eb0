// SPDX-License-Identifier: MIT
#pragma once
// LdlFactor: a symmetric matrix as L D L^T, in place, with the same bits on every machine.

#include <tq/core/buffer.hpp>
#include <tq/core/executor.hpp>
#include <tq/kernels/product_sums.hpp>
#include <tq/numeric/rounding.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace tq::detail {

/// A square matrix of float64 and its factor: L has ones on its diagonal, and row k of the upper
/// triangle becomes column k of L. Every element is its own value, less products in ascending
/// order, each rounded before it is taken away: neither blocks, threads nor instructions show.
class LdlFactor {
 public:
  explicit LdlFactor(std::size_t n)
      : n_(n),
        stride_((n + rows - 1) / rows * rows),
        matrix_(stride_ * stride_),
        pivots_(stride_, 1.0) {
    std::ranges::fill(matrix_.span(), 0.0);
  }

  /// Row k, of which the part from column k on counts.
  [[nodiscard]] double* row(std::size_t k) noexcept { return matrix_.data() + k * stride_; }
  [[nodiscard]] const double* row(std::size_t k) const noexcept {
    return matrix_.data() + k * stride_;
  }
  /// The diagonal of D.
  [[nodiscard]] const std::vector<double>& pivots() const noexcept { return pivots_; }

  /// Makes the factor. Returns the number of rows; less where a row depends on those before it, as
  /// far as float64 can tell: then that of the row.
  template <class Arch, Executor E>
  [[nodiscard]] std::size_t run(const E& executor) {
    std::vector<double> diagonal(n_);
    for (std::size_t k = 0; k < n_; ++k) diagonal[k] = row(k)[k];
    Buffer<double> earlier(block * stride_);
    for (std::size_t first = 0; first < n_; first += block) {
      const std::size_t height = std::min(block, stride_ - first),
                        tiles = (stride_ - first + tile - 1) / tile;
      pack_earlier(first, height, earlier.data(), executor);
      executor(tiles, [&](std::size_t t) {
        take_earlier<Arch>(first, height, earlier.data(), first + t * tile);
      });
      Within within{};
      const std::size_t done = finish<Arch>(first, height, within, first, height, diagonal.data());
      if (done < std::min(n_, first + height)) return done;
      const std::size_t from = first + height, rest = (stride_ - from + tile - 1) / tile;
      executor(rest, [&](std::size_t t) {
        const std::size_t column = from + t * tile;
        static_cast<void>(
            finish<Arch>(first, height, within, column, std::min(tile, stride_ - column), nullptr));
      });
    }
    return n_;
  }

 private:
  static constexpr std::size_t rows = kernels::product_rows, block = 64, tile = 128, depth = 128;
  static constexpr auto product = kernels::Product::rounded;
  // -D[k] L[r][k] of rows r and k of a block, as `add_products` reads them.
  using Within = std::array<double, block * block>;
  [[nodiscard]] static constexpr std::size_t within_at(std::size_t k, std::size_t r) noexcept {
    return r / rows * block * rows + k * rows + r % rows;
  }

  [[nodiscard]] kernels::SumRows sum_rows(std::size_t first, std::size_t column) noexcept {
    kernels::SumRows out;
    for (std::size_t r = 0; r < rows; ++r) out[r] = row(first + r) + column;
    return out;
  }

  // -D[k] L[r][k] of the rows r of a block and all rows k before it.
  template <Executor E>
  void pack_earlier(std::size_t first, std::size_t height, double* out, const E& executor) {
    executor(height / rows, [&](std::size_t s) {
      double* to = out + s * rows * first;
      for (std::size_t k = 0; k < first; ++k)
        for (std::size_t r = 0; r < rows; ++r)
          to[k * rows + r] = -pivots_[k] * row(k)[first + s * rows + r];
    });
  }
  template <class Arch>
  void take_earlier(std::size_t first, std::size_t height, const double* earlier,
                    std::size_t column) noexcept {
    const std::size_t width = std::min(tile, stride_ - column);
    for (std::size_t k = 0; k < first; k += depth)
      for (std::size_t s = 0; s < height; s += rows)
        kernels::add_products<Arch, product>(earlier + s * first + k * rows, row(k) + column,
                                             stride_, std::min(depth, first - k),
                                             sum_rows(first + s, column), width);
  }

  // Takes the rows of a block from each other and divides them by their pivots, in `width` columns
  // from `column` on. With a `diagonal`, these are the columns of the block's own rows, and pivots
  // and `within` are made.
  template <class Arch>
  [[nodiscard]] std::size_t finish(std::size_t first, std::size_t height, Within& within,
                                   std::size_t column, std::size_t width, const double* diagonal) {
    for (std::size_t r = 0; r < height; ++r) {
      const std::size_t panel = r / rows * rows;
      if (r == panel && panel != 0)
        kernels::add_products<Arch, product>(within.data() + within_at(0, panel),
                                             row(first) + column, stride_, panel,
                                             sum_rows(first + panel, column), width);
      double* to = row(first + r) + column;
      for (std::size_t k = panel; k < r; ++k) {
        const double factor = within[within_at(k, r)];
        const double* from = row(first + k) + column;
        for (std::size_t c = 0; c < width; ++c) to[c] += uncontracted(factor * from[c]);
      }
      if (diagonal != nullptr && first + r < n_) {
        if (!is_pivot(to[r], diagonal[first + r])) return first + r;
        pivots_[first + r] = to[r];
      }
      const double pivot = pivots_[first + r];
      for (std::size_t c = 0; c < width; ++c) to[c] /= pivot;
      if (diagonal != nullptr)
        for (std::size_t s = r + 1; s < height; ++s) within[within_at(r, s)] = -pivot * to[s];
    }
    return first + height;
  }

  [[nodiscard]] bool is_pivot(double pivot, double diagonal) const noexcept {
    constexpr double epsilon = std::numeric_limits<double>::epsilon();
    return std::isfinite(pivot) && pivot > epsilon * static_cast<double>(n_) * diagonal;
  }

  std::size_t n_, stride_;
  Buffer<double> matrix_;
  std::vector<double> pivots_;
};

}  // namespace tq::detail

// SPDX-License-Identifier: MIT
#pragma once
// FloatRows: some rows of a layer's input, as products of floats read them.

#include <tq/core/detail/small_buffer.hpp>
#include <tq/kernels/group_dot.hpp>
#include <tq/linear/detail/group_kernels.hpp>

#include <algorithm>
#include <cstddef>

namespace tq::detail {

/// Rows of floats: `step` inputs of each row, then the next ones of each, so that those which are
/// read together lie together.
class FloatRows {
 public:
  static constexpr std::size_t step = 128;  ///< inputs, whose weights the first cache holds
  /// Rows to take at a time: more of them read weights less often.
  template <class Arch>
  static std::size_t most() noexcept {
    return 192 - 192 % FloatKernels<Arch>::rows();
  }

  /// fill(r, out) writes row r, of `inputs` floats.
  template <class Fill>
  FloatRows(std::size_t rows, std::size_t inputs, const Fill& fill)
      : rows_(rows), inputs_(inputs), numbers_(rows * inputs), row_(rows > 1 ? inputs : 0) {
    for (std::size_t r = 0; r < rows; ++r) {
      float* const row = rows == 1 ? numbers_.data() : row_.data();
      fill(r, row);
      for (std::size_t k = 0; rows > 1 && k < inputs; k += step)
        std::copy_n(row + k, length(k), numbers_.data() + k * rows + r * length(k));
    }
  }

  [[nodiscard]] std::size_t rows() const noexcept { return rows_; }
  [[nodiscard]] std::size_t inputs() const noexcept { return inputs_; }

  /// Inputs of the step that begins with input k.
  [[nodiscard]] std::size_t length(std::size_t k) const noexcept {
    return std::min(step, inputs_ - k);
  }

  /// Adds the products of inputs [k + i, k + i + n) of all rows, of the step that begins with input
  /// k, and of weights [n, 32], to `sums` [rows, 2, 32]: see `kernels::values_tile`.
  template <class Arch>
  void add_products(std::size_t k, std::size_t i, std::size_t n, const float* weights,
                    float* sums) const noexcept {
    const std::size_t tile = FloatKernels<Arch>::rows();
    const std::size_t apart = length(k);
    const float* const x = numbers_.data() + k * rows_ + i;
    for (std::size_t r = 0; r < rows_; r += tile)
      FloatKernels<Arch>::tile(std::min(tile, rows_ - r), x + r * apart, apart, weights, n,
                               sums + 2 * r * kernels::group_columns);
  }

 private:
  std::size_t rows_, inputs_;
  SmallBuffer<float, 512> numbers_, row_;
};

}  // namespace tq::detail

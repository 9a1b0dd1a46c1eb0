// SPDX-License-Identifier: MIT
#pragma once
// TokenRows: activations of any rank and strides as rows of inputs, one for each token.

#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tq::detail {

/// The rows of a tensor along its last axis. Rows with NaN or infinities are known, and left out by
/// `used()`. The view must outlive the rows.
class TokenRows {
 public:
  /// Throws: `errc::shape_mismatch` unless the last axis has `inputs` elements.
  TokenRows(const char* function, const ConstTensorView& x, std::size_t inputs) : x_(x) {
    const Shape& shape = x.shape();
    if (shape.rank() == 0 || shape[shape.rank() - 1] != inputs)
      raise_expected(errc::shape_mismatch, function, {"activations of shape [..., ", inputs, "]"},
                     {shape.extents()});
    const std::size_t rows = inputs == 0 ? 0 : shape.size() / inputs;
    std::vector<float> memory(inputs);
    for (std::size_t i = 0; i < rows; ++i) {
      const float* values = row(i, memory.data());
      if (is_finite(values, inputs)) used_.push_back(i);
    }
    left_out_ = rows - used_.size();
  }

  /// Numbers of the rows without NaN and infinities, ascending.
  [[nodiscard]] const std::vector<std::size_t>& used() const noexcept { return used_; }
  [[nodiscard]] std::size_t left_out() const noexcept { return left_out_; }

  /// The elements of row `i`, beside each other: where they lie, or copied to `memory`.
  [[nodiscard]] const float* row(std::size_t i, float* memory) const noexcept {
    const Shape& shape = x_.shape();
    const int last = shape.rank() - 1;
    const float* from = x_.data();
    for (int axis = last - 1; axis >= 0; --axis) {
      from += static_cast<std::ptrdiff_t>(i % shape[axis]) * x_.stride(axis);
      i /= shape[axis];
    }
    if (x_.stride(last) == 1) return from;
    for (std::size_t c = 0; c < shape[last]; ++c)
      memory[c] = from[static_cast<std::ptrdiff_t>(c) * x_.stride(last)];
    return memory;
  }

 private:
  static bool is_finite(const float* values, std::size_t n) noexcept {
    constexpr std::uint32_t exponent = 0x7f800000;
    std::uint32_t bad = 0;
    for (std::size_t c = 0; c < n; ++c)
      bad |= (std::bit_cast<std::uint32_t>(values[c]) & exponent) == exponent ? 1u : 0u;
    return bad == 0;
  }

  const ConstTensorView& x_;
  std::vector<std::size_t> used_;
  std::size_t left_out_ = 0;
};

}  // namespace tq::detail

// SPDX-License-Identifier: MIT
#pragma once
// require_weights and row_major: weights as weight algorithms take them.

#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>

#include <cmath>
#include <cstddef>
#include <vector>

namespace tq::detail {

/// Throws: `errc::shape_mismatch` unless `weights` are of shape [outputs, inputs];
/// `errc::not_finite` for NaN or infinite weights.
inline void require_weights(const char* function, const ConstTensorView& weights,
                            std::size_t inputs) {
  const Shape& shape = weights.shape();
  if (shape.rank() != 2 || shape[1] != inputs)
    raise_expected(errc::shape_mismatch, function, {"weights of shape [outputs, ", inputs, "]"},
                   {shape.extents()});
  for (std::size_t r = 0; r < shape[0]; ++r)
    for (std::size_t c = 0; c < shape[1]; ++c) {
      const float w = weights.data()[static_cast<std::ptrdiff_t>(r) * weights.stride(0) +
                                     static_cast<std::ptrdiff_t>(c) * weights.stride(1)];
      if (!std::isfinite(w))
        raise_expected(errc::not_finite, function, {"finite weights"},
                       {w, " at row ", r, " and column ", c});
    }
}

/// The elements of a matrix, row by row.
[[nodiscard]] inline std::vector<float> row_major(const ConstTensorView& matrix) {
  std::vector<float> out;
  out.reserve(matrix.size());
  for (std::size_t r = 0; r < matrix.shape()[0]; ++r)
    for (std::size_t c = 0; c < matrix.shape()[1]; ++c)
      out.push_back(matrix.data()[static_cast<std::ptrdiff_t>(r) * matrix.stride(0) +
                                  static_cast<std::ptrdiff_t>(c) * matrix.stride(1)]);
  return out;
}

}  // namespace tq::detail

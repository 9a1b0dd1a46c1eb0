// SPDX-License-Identifier: MIT
#pragma once
// ColumnGroups: which parameter an element of weights has.

#include <tq/core/granularity.hpp>
#include <tq/core/quant_params.hpp>

#include <cstddef>

namespace tq::detail {

/// The parameters of a matrix by row and group of columns. They must outlive the object.
template <AnyParams Params>
class ColumnGroups {
 public:
  /// Precondition: `params` fit `shape`, of two axes.
  ColumnGroups(const Params& params, const Shape& shape)
      : params_(params),
        block_(params.granularity().block(shape)),
        columns_(param_shape(params.granularity(), shape)[1]) {}

  [[nodiscard]] std::size_t group(std::size_t column) const noexcept { return column / block_[1]; }
  [[nodiscard]] auto affine(std::size_t row, std::size_t group) const noexcept {
    return params_.affine(row / block_[0] * columns_ + group);
  }

 private:
  const Params& params_;
  Shape block_;
  std::size_t columns_;
};

}  // namespace tq::detail

// SPDX-License-Identifier: MIT
#pragma once
// ColumnGroups: which parameter an element of weights has.

#include <tq/core/granularity.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/ptq/detail/column_map.hpp>

#include <cstddef>

namespace tq::detail {

/// The parameters of weights by row and group of columns. They must outlive the object.
template <AnyParams Params>
class ColumnGroups {
 public:
  /// Precondition: `params` fit `shape`, [outputs, ...].
  ColumnGroups(const Params& params, const Shape& shape)
      : params_(params), map_(shape, params.granularity().block(shape)) {}

  [[nodiscard]] std::size_t group(std::size_t column) const noexcept { return map_.group(column); }
  [[nodiscard]] auto affine(std::size_t row, std::size_t group) const noexcept {
    return params_.affine(map_.parameter(row, group));
  }

 private:
  const Params& params_;
  ColumnMap map_;
};

}  // namespace tq::detail

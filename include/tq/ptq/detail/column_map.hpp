// SPDX-License-Identifier: MIT
#pragma once
// ColumnMap: which parameter an element of weights has, by its output and its column.

#include <tq/core/shape.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tq::detail {

/// The parameters of weights [outputs, ...] by row and group of columns, where the axes behind the
/// first are the columns of a matrix.
class ColumnMap {
 public:
  /// `block`: the extents of the elements that share a parameter.
  ColumnMap(const Shape& shape, const Shape& block) : block_rows_(block[0]) {
    std::size_t columns = 1;
    for (int axis = 1; axis < shape.rank(); ++axis) {
      columns *= shape[axis];
      groups_ *= (shape[axis] + block[axis] - 1) / block[axis];
    }
    group_of_.reserve(columns);
    for (std::size_t column = 0; column < columns; ++column) {
      std::size_t rest = column, left = columns, group = 0;
      for (int axis = 1; axis < shape.rank(); ++axis) {
        left /= shape[axis];
        const std::size_t blocks = (shape[axis] + block[axis] - 1) / block[axis];
        group = group * blocks + rest / left / block[axis];
        rest %= left;
      }
      group_of_.push_back(static_cast<std::uint32_t>(group));
    }
  }

  [[nodiscard]] std::size_t columns() const noexcept { return group_of_.size(); }
  /// Groups of columns.
  [[nodiscard]] std::size_t groups() const noexcept { return groups_; }
  /// Rows that share their parameters.
  [[nodiscard]] std::size_t block_rows() const noexcept { return block_rows_; }
  [[nodiscard]] std::size_t group(std::size_t column) const noexcept { return group_of_[column]; }
  /// The number of the parameter of a row and a group of columns.
  [[nodiscard]] std::size_t parameter(std::size_t row, std::size_t group) const noexcept {
    return row / block_rows_ * groups_ + group;
  }
  /// The columns of every group, ascending.
  [[nodiscard]] std::vector<std::vector<std::uint32_t>> columns_of_groups() const {
    std::vector<std::vector<std::uint32_t>> out(groups_);
    for (std::size_t c = 0; c < columns(); ++c)
      out[group_of_[c]].push_back(static_cast<std::uint32_t>(c));
    return out;
  }

 private:
  std::size_t block_rows_, groups_ = 1;
  std::vector<std::uint32_t> group_of_;
};

}  // namespace tq::detail

// SPDX-License-Identifier: MIT
#pragma once
// StackedRows: weights of a grouped layer as a matrix of rows for each group.

#include <tq/core/buffer.hpp>
#include <tq/core/executor.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/ops/copy.hpp>
#include <tq/ptq/detail/require_weights.hpp>

#include <cstddef>
#include <vector>

namespace tq::detail {

/// Weights [outputs, ...] as rows [outputs, inputs of a group]. The outputs of a group lie beside
/// each other. A matrix is referred to, other weights are copied.
class StackedRows {
 public:
  /// One group. Precondition: a matrix of finite weights.
  explicit StackedRows(const ConstTensorView& matrix) noexcept : weights_(matrix), rows_(matrix) {}
  /// Throws: `errc::shape_mismatch` unless a row has `inputs` weights and outputs are a multiple of
  /// `groups`; `errc::not_finite` for NaN or infinite weights.
  StackedRows(const char* function, const ConstTensorView& weights, std::size_t groups,
              std::size_t inputs)
      : weights_(weights), rows_(weights), groups_(groups) {
    const Shape& shape = weights.shape();
    if (groups == 1 && shape.rank() == 2) {
      require_weights(function, weights, inputs);
      return;
    }
    std::size_t columns = 1;
    for (int axis = 1; axis < shape.rank(); ++axis) columns *= shape[axis];
    if (shape.rank() < 2 || columns != inputs || shape[0] % groups != 0)
      raise_expected(errc::shape_mismatch, function,
                     {"weights of shape [outputs, ...], outputs a multiple of ", groups,
                      " and each of ", inputs, " weights"},
                     {shape.extents()});
    if (shape.rank() != 2) {
      memory_ = Buffer<float>(weights.size());
      copy_unchecked(weights, TensorView<float>(memory_.data(), shape), serial);
      rows_ = ConstTensorView(memory_.data(), {shape[0], inputs});
    }
    require_weights(function, rows_, inputs);
  }
  StackedRows(const StackedRows&) = delete;
  StackedRows& operator=(const StackedRows&) = delete;

  /// The weights as they were given, which must outlive the rows.
  [[nodiscard]] const ConstTensorView& weights() const noexcept { return weights_; }
  [[nodiscard]] const Shape& shape() const noexcept { return weights_.shape(); }
  [[nodiscard]] std::size_t groups() const noexcept { return groups_; }
  [[nodiscard]] std::size_t outputs() const noexcept { return shape()[0]; }
  [[nodiscard]] std::size_t inputs() const noexcept { return rows_.shape()[1]; }
  [[nodiscard]] std::size_t outputs_of_group() const noexcept { return shape()[0] / groups_; }
  /// All rows, [outputs, inputs].
  [[nodiscard]] const ConstTensorView& rows() const noexcept { return rows_; }
  /// The rows of a group.
  [[nodiscard]] ConstTensorView group(std::size_t g) const {
    return rows_.slice(0, g * outputs_of_group(), (g + 1) * outputs_of_group());
  }

 private:
  ConstTensorView weights_, rows_;
  std::size_t groups_ = 1;
  Buffer<float> memory_;
};

/// Throws: `errc::bad_argument` for no groups.
inline void require_groups(const char* function, std::size_t groups) {
  if (groups == 0) raise_expected(errc::bad_argument, function, {"groups of inputs"}, {"none"});
}

/// Throws: `errc::bad_argument` for no groups; `errc::shape_mismatch` for groups of different
/// inputs.
template <class Group>
void require_same_inputs(const char* function, const std::vector<Group>& groups) {
  require_groups(function, groups.size());
  for (const Group& group : groups)
    if (group.inputs() != groups.front().inputs())
      raise_expected(errc::shape_mismatch, function,
                     {"groups of ", groups.front().inputs(), " inputs each"}, {group.inputs()});
}

/// The parameters of rows from `first` on.
template <class Groups>
struct GroupsFrom {
  const Groups& groups;
  std::size_t first;

  [[nodiscard]] std::size_t group(std::size_t column) const noexcept {
    return groups.group(column);
  }
  [[nodiscard]] decltype(auto) affine(std::size_t row, std::size_t group) const noexcept {
    return groups.affine(first + row, group);
  }
};

/// Calls f(group, executor) for all groups: several groups at once, or a single one with all
/// threads.
template <Executor E, class F>
void for_each_group(std::size_t groups, const E& executor, const F& f) {
  if (groups == 1) f(std::size_t{0}, executor);
  else executor(groups, [&](std::size_t g) { f(g, serial); });
}

}  // namespace tq::detail

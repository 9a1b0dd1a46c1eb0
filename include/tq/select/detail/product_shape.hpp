// SPDX-License-Identifier: MIT
#pragma once
// ProductShape: what weights of a tensor are in a product of matrices.

#include <tq/core/detail/sizes.hpp>
#include <tq/core/shape.hpp>
#include <tq/model/node_kind.hpp>

#include <algorithm>
#include <cstddef>
#include <tuple>

namespace tq {

/// The shape of weights in a product: y [rows, outputs] = x [rows, inputs] * transposed weights,
/// with parameters for every `group` inputs.
struct ProductShape {
  std::size_t outputs = 0, inputs = 0, group = 0;

  friend bool operator==(const ProductShape&, const ProductShape&) = default;
  friend bool operator<(const ProductShape& a, const ProductShape& b) noexcept {
    return std::tie(a.outputs, a.inputs, a.group) < std::tie(b.outputs, b.inputs, b.group);
  }
};

/// The product shape of a tensor: [outputs, inputs]; filters are [outputs, all the rest]; [experts,
/// outputs, inputs] have the outputs of all experts. `block` is the block of a parameter.
/// Precondition: two axes or more, and the same number in `block`.
[[nodiscard]] inline ProductShape product_shape(const Shape& shape, const Shape& block,
                                                NodeKind kind) noexcept {
  const int first_input = shape.rank() == 3 && kind != NodeKind::conv ? 2 : 1;
  ProductShape out{1, 1, 1};
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (axis < first_input) {
      out.outputs = detail::product_or_most(out.outputs, shape[axis]);
    } else {
      out.inputs = detail::product_or_most(out.inputs, shape[axis]);
      out.group = detail::product_or_most(out.group, std::min(block[axis], shape[axis]));
    }
  }
  return out;
}

}  // namespace tq

// SPDX-License-Identifier: MIT
#pragma once
// Common parts of QuantizeLinear and DequantizeLinear: operands, and the granularity from shapes.

#include "elements.hpp"

#include <tq/core/make_params.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace conformance {

/// Scales and zero points; without a zero point tensor tq's side is `Symmetric`, all codes used.
struct OnnxOperands {
  std::vector<std::size_t> scale_shape;
  std::vector<float> scales;
  std::vector<std::int32_t> zero_points;
  bool has_zero_point = false;

  explicit OnnxOperands(const Case& c) {
    const TensorFile& scale = c.input(1);
    scale_shape = scale.load().shape;
    scales = scale.floats();
    has_zero_point = c.inputs.size() > 2;
    if (has_zero_point) zero_points = zero_points_of(c.input(2));
  }
};

/// Calls f(granularity) for the one that attributes and the shape of the scale imply: one scale per
/// tensor; 1-D per axis; blocked where block_size is given. Throws: std::runtime_error.
template <class F>
void with_onnx_granularity(const Case& c, const tq::Shape& x, const OnnxOperands& operands, F&& f) {
  const int axis = c.attribute("axis", 1), block = c.attribute("block_size", 0);
  const std::size_t rank = operands.scale_shape.size();
  if (block > 0) {
    const tq::PerGroup<tq::dynamic, tq::dynamic> groups(block, axis);
    if (groups.check(x) == tq::errc::ok &&
        !(tq::param_shape(groups, x) == tq::Shape(std::span(operands.scale_shape))))
      throw std::runtime_error("expected blocked scales of shape " +
                               to_string(tq::param_shape(groups, x)) + ", got " +
                               tq::io::shape_text(operands.scale_shape));
    f(groups);
  } else if (operands.scales.size() == 1 && rank <= 1) {
    f(tq::PerTensor{});
  } else if (rank == 1) {
    f(tq::PerChannel<>(x.rank() == 1 ? 0 : axis));
  } else {
    throw std::runtime_error("expected scales of rank 0 or 1, or a block size, got shape " +
                             tq::io::shape_text(operands.scale_shape));
  }
}

/// Calls f(params) with parameters of element T for the operands of a case over shape `x`.
template <tq::IntegerElement T, class F>
void with_onnx_params(const Case& c, const tq::Shape& x, const OnnxOperands& operands, F&& f) {
  with_onnx_granularity(c, x, operands, [&]<class G>(const G& granularity) {
    if (operands.has_zero_point)
      f(tq::make_params<tq::QuantParams<T, G, tq::Asymmetric>>(granularity, operands.scales,
                                                               operands.zero_points));
    else f(tq::make_params<tq::QuantParams<T, G, tq::Symmetric>>(granularity, operands.scales));
  });
}

/// The same for floats and code books. ONNX lets them have zero points, all of which are zeros.
template <tq::CodedElement T, class F>
void with_onnx_params(const Case& c, const tq::Shape& x, const OnnxOperands& operands, F&& f) {
  for (const std::int32_t z : operands.zero_points)
    if (z != 0)
      throw std::runtime_error("expected zero points of 0, got code " + std::to_string(z));
  with_onnx_granularity(c, x, operands, [&]<class G>(const G& granularity) {
    f(tq::make_params<tq::QuantParams<T, G, tq::Symmetric>>(granularity, operands.scales));
  });
}

}  // namespace conformance

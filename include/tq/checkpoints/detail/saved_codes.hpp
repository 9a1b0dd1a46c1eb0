// SPDX-License-Identifier: MIT
#pragma once
// Checks of a weight whose codes a format stores as they are.

#include <tq/checkpoints/checkpoint_tensor.hpp>
#include <tq/checkpoints/detail/saved_parts.hpp>
#include <tq/checkpoints/linear_weight.hpp>
#include <tq/core/float_elements.hpp>
#include <tq/core/scales.hpp>
#include <tq/core/shape.hpp>
#include <tq/scheme/any_granularity.hpp>
#include <tq/scheme/encoded_layout.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace tq::io::detail {

// Throws unless `weight` is a matrix of the layer in parts that a format with no input order, code
// book or factor has.
inline void require_plain(std::string_view format, const LinearWeight& layer,
                          const CheckpointTensor& weight) {
  const EncodedTensor& t = weight.tensor;
  const Shape shape = layer.experts == 0 ? Shape{layer.outputs, layer.inputs}
                                         : Shape{layer.experts, layer.outputs, layer.inputs};
  tq::detail::require_checkpoint_tensor("tq::format", weight);
  if (!(t.shape == shape)) refuse_saving(format, "codes " + to_string(shape), to_string(t.shape));
  if (!weight.input_order.empty())
    refuse_saving(format, "inputs in their order", "an input order (desc_act)");
  if (!weight.codebook.empty()) refuse_saving(format, "codes of the type", "a code book");
  if (!weight.factors.empty()) refuse_saving(format, "scales alone", "factors beside scales");
}

// Whether every scale is that of so many outputs and inputs, or of all that there are.
[[nodiscard]] inline bool has_blocks(const EncodedTensor& t, std::size_t outputs,
                                     std::size_t inputs) {
  const Shape block = AnyGranularity(t.spec).block(t.shape);
  const int last = t.shape.rank() - 1;
  return block[last] == std::min(inputs, t.shape[last]) &&
         block[last - 1] == std::min(outputs, t.shape[last - 1]) &&
         block.size() == block[last] * block[last - 1];
}

// Scales that are powers of two as bytes of E8M0. Throws: `errc::unsupported` for other scales.
[[nodiscard]] inline Bytes exponent_bytes(std::string_view format, const EncodedTensor& t) {
  const auto* scales = t.scales.get_if<Scales<float8_e8m0fnu>>();
  if (scales == nullptr)
    refuse_saving(format, "scales of float8_e8m0fnu", "scales of " + t.spec.scale_type);
  return bytes_of_values(scales->stored());
}

// Throws unless `weight` has plain codes of that element with a scale for each such block.
inline void require_codes_of(std::string_view format, const LinearWeight& layer,
                             const CheckpointTensor& weight, std::string_view type,
                             std::size_t outputs, std::size_t inputs) {
  require_plain(format, layer, weight);
  const EncodedTensor& t = weight.tensor;
  const auto zero_points = t.zero_points.values();
  const bool is_symmetric = std::ranges::all_of(zero_points, [](auto z) { return z == 0; });
  if (t.spec.type != type || !has_blocks(t, outputs, inputs) || !is_symmetric || !t.offsets.empty())
    refuse_saving(format,
                  std::string(type) + " with a scale for every [" + std::to_string(outputs) + ", " +
                      std::to_string(inputs) + "]",
                  to_string(t.spec));
}

}  // namespace tq::io::detail

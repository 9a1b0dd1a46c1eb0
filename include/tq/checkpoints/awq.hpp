// SPDX-License-Identifier: MIT
#pragma once
// Awq: weights of AWQ.

#include <tq/checkpoints/checkpoint_parts.hpp>
#include <tq/checkpoints/checkpoint_search.hpp>
#include <tq/checkpoints/checkpoint_tensor.hpp>
#include <tq/checkpoints/detail/grouped_tensor.hpp>
#include <tq/checkpoints/detail/qweight.hpp>
#include <tq/layouts/awq.hpp>

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tq::checkpoints {

/// layer.qweight, layer.qzeros, layer.scales, of which qweight is packed along the outputs
/// (`tq::layouts::awq`). Weights are uint4 with zero points.
struct Awq {
  static constexpr std::string_view name = "awq";
  static constexpr std::array<std::string_view, 1> marks{"qweight"}, part_names{".qzeros"};

  static bool find(io::CheckpointSearch& search, const io::TensorInfo& t) {
    if (io::detail::leaf(t.name) != "qweight" || !io::detail::is_awq(search, t)) return false;
    io::detail::take_qweight(search, t, name, true);
    return true;
  }

  template <Backend B>
  [[nodiscard]] static CheckpointTensor load(const io::CheckpointParts<B>& parts) {
    const GroupedShape shape = detail::grouped_shape(parts.weight(), {});
    const std::size_t k = shape.inputs, n = shape.outputs, groups = shape.groups();
    std::vector<std::uint8_t> codes(k * n);
    std::vector<std::int32_t> zeros(groups * n);
    layouts::awq::load(shape, parts.words("weight"), parts.words("zero points"), codes, zeros);
    return detail::grouped_tensor<uint4, B>(
        {shape,
         detail::transposed("codes", codes, k, n),
         detail::transposed("scales", parts.floats("scales"), groups, n),
         detail::transposed("zero points", zeros, groups, n),
         {}});
  }
};

}  // namespace tq::checkpoints

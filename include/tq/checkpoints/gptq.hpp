// SPDX-License-Identifier: MIT
#pragma once
// Gptq: weights of GPTQ.

#include <tq/checkpoints/checkpoint_parts.hpp>
#include <tq/checkpoints/checkpoint_search.hpp>
#include <tq/checkpoints/checkpoint_tensor.hpp>
#include <tq/checkpoints/detail/grouped_tensor.hpp>
#include <tq/checkpoints/detail/qweight.hpp>
#include <tq/layouts/gptq.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tq::checkpoints {

/// layer.qweight, layer.qzeros, layer.scales; perhaps layer.g_idx, the group of each input
/// (`tq::layouts::gptq`). Weights are unsigned integers with zero points; where g_idx is not in
/// order (desc_act), they have an input order.
struct Gptq {
  static constexpr std::string_view name = "gptq";
  static constexpr std::array<std::string_view, 1> marks{"qweight"}, part_names{".qzeros"};

  static bool find(io::CheckpointSearch& search, const io::TensorInfo& t) {
    if (io::detail::leaf(t.name) != "qweight" || io::detail::is_awq(search, t)) return false;
    io::detail::take_qweight(search, t, name, false);
    return true;
  }

  template <Backend B>
  [[nodiscard]] static CheckpointTensor load(const io::CheckpointParts<B>& parts) {
    std::vector<std::int32_t> g_idx;
    if (parts.has("g_idx")) g_idx = parts.words("g_idx");
    const GroupedShape shape = detail::grouped_shape(parts.weight(), g_idx);
    const std::size_t k = shape.inputs, n = shape.outputs, groups = shape.groups();
    CheckpointTensor out;
    detail::with_width(TypeList<uint2, uint3, uint4, uint8>{}, parts.weight().bits,
                       [&]<class T>(std::type_identity<T>) {
                         std::vector<std::uint8_t> codes(k * n);
                         std::vector<std::int32_t> zeros(groups * n);
                         read_words<T>(parts, shape, codes, zeros);
                         out = detail::grouped_tensor<T, B>(
                             {shape, detail::transposed("codes", codes, k, n),
                              detail::transposed("scales", parts.floats("scales"), groups, n),
                              detail::transposed("zero points", zeros, groups, n), g_idx});
                       });
    return out;
  }

 private:
  template <class T, Backend B>
  static void read_words(const io::CheckpointParts<B>& parts, const GroupedShape& shape,
                         std::span<std::uint8_t> codes, std::span<std::int32_t> zeros) {
    const std::vector<std::int32_t> qweight = parts.words("weight"),
                                    qzeros = parts.words("zero points");
    if (parts.weight().is_gptq_v2)
      return layouts::gptq::load<T, layouts::gptq::V2>(shape, qweight, qzeros, codes, zeros);
    layouts::gptq::load<T, layouts::gptq::V1>(shape, qweight, qzeros, codes, zeros);
    // Symmetric weights have zero points of half the range, and no others do everywhere.
    constexpr std::int32_t half = 1 << (T::bits - 1);
    if (std::ranges::all_of(zeros, [](std::int32_t z) { return z == half + 1; }))
      raise(errc::unsupported,
            "tq::io::load_checkpoint: expected zero points of checkpoint_format gptq, got qzeros "
            "of " +
                std::to_string(half) +
                " everywhere, as gptq_v2 has them of symmetric weights; "
                "quantize_config.json or config.json beside the file says which");
  }
};

}  // namespace tq::checkpoints

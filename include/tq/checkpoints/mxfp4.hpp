// SPDX-License-Identifier: MIT
#pragma once
// Mxfp4: weights of MXFP4, as compressed-tensors and gpt-oss store them.

#include <tq/checkpoints/checkpoint_parts.hpp>
#include <tq/checkpoints/checkpoint_search.hpp>
#include <tq/checkpoints/checkpoint_tensor.hpp>
#include <tq/checkpoints/detail/saved_codes.hpp>
#include <tq/checkpoints/detail/saved_parts.hpp>
#include <tq/checkpoints/detail/weight_packed.hpp>
#include <tq/checkpoints/linear_weight.hpp>
#include <tq/containers/safetensors_writer.hpp>
#include <tq/core/detail/sizes.hpp>
#include <tq/core/float_elements.hpp>
#include <tq/core/scales.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tq::checkpoints {

/// layer.weight_packed uint8 [N, K / 2] and layer.weight_scale uint8 [N, K / 32]
/// (compressed-tensors); or W_blocks uint8 [..., K / 32, 16] and W_scales uint8 [..., K / 32] of
/// gpt-oss, whose float model has its experts as [experts, K, N]. The first code of a byte is in
/// the low nibble; scales are E8M0.
struct Mxfp4 {
  static constexpr std::string_view name = "mxfp4";
  static constexpr std::array<std::string_view, 2> marks{"weight_packed", "_blocks"};
  static constexpr std::array<std::string_view, 2> part_names{"weight_scale", "_proj_scales"};

  static bool find(io::CheckpointSearch& search, const io::TensorInfo& t) {
    if (t.dtype != io::DType::u8) return false;
    if (io::detail::leaf(t.name) == "weight_packed") {
      const std::string base = io::detail::stem(t.name);
      const io::TensorInfo* const scales = search.find(base + "weight_scale");
      if (scales == nullptr || scales->dtype != io::DType::u8 ||
          search.contains(base + "weight_global_scale"))
        return false;
      io::detail::take_weight_packed(search, t, name, [](io::CheckpointCandidate& found) {
        Extents shape = found.part("weight").shape;
        if (!shape.empty()) shape.back() = detail::product_or_most(shape.back(), 2);
        fill(found, std::move(shape));
      });
      return true;
    }
    const std::string base = t.name.substr(0, t.name.rfind('_'));
    if (!t.name.ends_with("_blocks") || !search.contains(base + "_scales")) return false;
    search.take(base, name, {{"weight", t.name}, {"scales", base + "_scales"}},
                [](io::CheckpointCandidate& found) {
                  const io::TensorInfo& blocks = found.part("weight");
                  if (blocks.shape.size() < 2 || blocks.shape.back() != 16)
                    return void(found.misfit(blocks, "U8 [..., blocks, 16]"));
                  Extents shape(blocks.shape.begin(), blocks.shape.end() - 1);
                  shape.back() = detail::product_or_most(shape.back(), 32);
                  fill(found, std::move(shape));
                  found.weight.is_transposed = found.weight.shape.size() == 3;
                  found.weight.shape = found.weight.code_shape();
                });
    return true;
  }

  template <Backend B>
  [[nodiscard]] static CheckpointTensor load(const io::CheckpointParts<B>& parts) {
    CheckpointTensor out;
    EncodedTensor& t = out.tensor;
    t.shape = Shape(std::span<const std::size_t>(parts.weight().code_shape()));
    t.spec.type = float4_e2m1fn::name;
    t.spec.granularity = PerGroup<>::name;
    t.spec.group_size = 32;
    t.spec.scale_type = float8_e8m0fnu::name;
    t.codes = parts.codes("weight");
    t.scales = Scales<float8_e8m0fnu>(parts.bytes("scales"));
    return out;
  }

  /// The parts of a weight for compressed-tensors; or, of all experts of a layer, for gpt-oss.
  [[nodiscard]] static std::vector<io::TensorDecl> declarations(const io::LinearWeight& layer) {
    const std::size_t n = layer.outputs, k = layer.inputs, e = layer.experts;
    if (e == 0)
      return {{layer.module + ".weight_packed", io::DType::u8, {n, k / 2}},
              {layer.module + ".weight_scale", io::DType::u8, {n, k / 32}}};
    return {{layer.module + "_blocks", io::DType::u8, {e, n, k / 32, 16}},
            {layer.module + "_scales", io::DType::u8, {e, n, k / 32}}};
  }

  /// The parts of codes that exist. Throws: `errc::unsupported` for a weight of another scheme.
  [[nodiscard]] static std::vector<io::Tensor> save(const io::LinearWeight& layer,
                                                    const CheckpointTensor& weight) {
    io::detail::require_codes_of(name, layer, weight, float4_e2m1fn::name, 1, 32);
    return io::detail::saved_parts(declarations(layer),
                                   {io::detail::copied(weight.tensor.codes.span()),
                                    io::detail::exponent_bytes(name, weight.tensor)});
  }

 private:
  using Extents = std::vector<std::size_t>;

  static void fill(io::CheckpointCandidate& found, Extents shape) {
    io::CheckpointWeight& w = found.weight;
    const io::TensorInfo& codes = found.part("weight");
    if (codes.shape.empty() || shape.back() % 32 != 0)
      return void(found.misfit(codes, "U8 of packed codes in whole blocks of 32"));
    w.shape = shape;
    shape.back() /= 32;
    if (found.require("scales", io::DType::u8, shape)) found.require_strategy(found.part("scales"));
    found.require_group_size(32);
    w.bits = 4;
    w.group_size = 32;
    w.scheme = "mxfp4";
  }
};

}  // namespace tq::checkpoints

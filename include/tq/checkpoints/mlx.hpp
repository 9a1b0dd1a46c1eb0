// SPDX-License-Identifier: MIT
#pragma once
// Mlx: weights of MLX.

#include <tq/checkpoints/checkpoint_parts.hpp>
#include <tq/checkpoints/checkpoint_search.hpp>
#include <tq/checkpoints/checkpoint_tensor.hpp>
#include <tq/checkpoints/detail/mlx_stacks.hpp>
#include <tq/checkpoints/detail/saved_mlx.hpp>
#include <tq/checkpoints/detail/saved_parts.hpp>
#include <tq/checkpoints/linear_weight.hpp>
#include <tq/containers/safetensors_writer.hpp>
#include <tq/core/float_elements.hpp>
#include <tq/core/scales.hpp>
#include <tq/core/symmetry.hpp>
#include <tq/error.hpp>
#include <tq/layouts/nvfp4.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tq::checkpoints {

/// W uint32 [N, K * bits / 32], layer.scales [N, K / group] and layer.biases: unsigned codes, dense
/// from the lowest bit of a row on; real = code * scale + bias. Without biases scales are uint8:
/// MXFP4 and MXFP8 with E8M0 for 32 inputs, NVFP4 with E4M3 for 16. The experts of a layer are
/// stacks [experts, ...], "switch_mlp.up_proj.weight"; each expert is a weight by its own name,
/// "experts.3.up_proj.weight".
/// Source: mlx, mlx/ops.cpp (quantize) and mlx/backend/cpu/quantized.cpp.
struct Mlx {
  static constexpr std::string_view name = "mlx";
  static constexpr std::array<std::string_view, 1> marks{".scales"}, part_names{".biases"};

  static bool find(io::CheckpointSearch& search, const io::TensorInfo& t) {
    const std::string base = io::detail::stem(t.name);
    if (t.dtype != io::DType::u32 || io::detail::leaf(t.name) != "weight" ||
        !search.contains(base + "scales"))
      return false;
    const io::CheckpointSearch::Parts parts{
        {"weight", t.name}, {"scales", base + "scales"}, {"biases", base + "biases"}};
    if (t.shape.size() != 3 || !io::detail::mlx_expert(base.substr(0, base.size() - 1), 0)) {
      search.take(t.name, name, parts, fill);
      return true;
    }
    std::vector<std::string> experts;
    for (std::size_t e = 0; e < t.shape.front(); ++e)
      experts.push_back(*io::detail::mlx_expert(base.substr(0, base.size() - 1), e) + ".weight");
    search.take_stack(t.name, experts, name, parts, fill);
    return true;
  }

  template <Backend B>
  [[nodiscard]] static CheckpointTensor load(const io::CheckpointParts<B>& parts) {
    const io::CheckpointWeight& w = parts.weight();
    CheckpointTensor out;
    EncodedTensor& t = out.tensor;
    t.shape = Shape(std::span<const std::size_t>(w.shape));
    t.codes = parts.codes("weight");  // whose rows fill words
    t.spec.granularity = PerGroup<>::name;
    t.spec.group_size = static_cast<int>(w.group_size);
    if (parts.has("biases")) {
      t.spec.type = "uint" + std::to_string(w.bits);
      t.spec.symmetry = FloatOffset::name;
      set_affine(out, parts.floats("scales"), parts.floats("biases"));
      return out;
    }
    t.spec.type =
        w.bits == 8 ? std::string_view(float8_e4m3fn::name) : std::string_view(float4_e2m1fn::name);
    std::vector<std::uint8_t> scales = parts.bytes("scales");
    if (w.group_size == 32) {
      t.spec.scale_type = float8_e8m0fnu::name;
      t.scales = Scales<float8_e8m0fnu>(std::move(scales));
    } else {
      detail::require_block_scales("tq::io::load_checkpoint", scales);
      std::vector<float> reals;
      for (const std::uint8_t s : scales) reals.push_back(float8_e4m3fn::format::decode(s));
      t.scales = Scales<float>(std::move(reals));
    }
    return out;
  }

  /// The parts of a weight.
  [[nodiscard]] static std::vector<io::TensorDecl> declarations(const io::LinearWeight& layer,
                                                                const io::detail::MlxScheme& s) {
    const std::vector<std::size_t> grid{layer.outputs, layer.inputs / s.group_size};
    std::vector<io::TensorDecl> out{
        {layer.module + ".weight",
         io::DType::u32,
         {layer.outputs, layer.inputs * static_cast<std::size_t>(s.bits) / 32}},
        {layer.module + ".scales", s.is_affine() ? layer.dtype : io::DType::u8, grid}};
    if (s.is_affine()) out.push_back({layer.module + ".biases", layer.dtype, grid});
    return out;
  }

  /// The parts of codes that exist. Throws: `errc::unsupported` for a weight of another scheme, and
  /// for scales or biases that their type does not hold.
  template <Backend B>
  [[nodiscard]] static std::vector<io::Tensor> save(const io::LinearWeight& layer,
                                                    const io::detail::MlxScheme& scheme,
                                                    const CheckpointTensor& weight) {
    return io::detail::saved_parts(declarations(layer, scheme),
                                   io::detail::mlx_bytes<B>(layer, scheme, weight));
  }

 private:
  // Scales have no sign: a negative one, as MLX makes it where the lowest value is nearest to 0,
  // becomes a factor.
  static void set_affine(CheckpointTensor& out, std::vector<float> scales,
                         std::vector<float> biases) {
    for (std::size_t i = 0; i < scales.size(); ++i) {
      if (scales[i] == 0)
        tq::detail::raise_expected(errc::bad_scale, "tq::io::load_checkpoint",
                                   {"scales other than 0"}, {"0 for group ", i});
      if (scales[i] > 0) continue;
      out.factors.resize(scales.size(), 1.0f);
      out.factors[i] = -1.0f;
      scales[i] = -scales[i];
      biases[i] = -biases[i];
    }
    out.tensor.scales = Scales<float>(std::move(scales));
    out.tensor.offsets = Scales<float>(std::move(biases));
  }

  // A part, or the part of each expert in a stack.
  static io::TensorInfo matrix_of(io::TensorInfo part, const io::CheckpointWeight& w) {
    if (w.experts != 0 && part.shape.size() == 3) part.shape.erase(part.shape.begin());
    return part;
  }

  static void fill(io::CheckpointCandidate& found) {
    io::CheckpointWeight& w = found.weight;
    const io::TensorInfo& all_scales = found.part("scales");
    const io::TensorInfo t = matrix_of(found.part("weight"), w), s = matrix_of(all_scales, w);
    if (!found.require_matrix(t, io::DType::u32)) return;
    if (w.experts != 0 && (all_scales.shape.size() != 3 || all_scales.shape.front() != w.experts))
      return void(found.misfit(all_scales, "scales of " + std::to_string(w.experts) + " experts"));
    if (s.shape.size() != 2 || s.shape[0] != t.shape[0] || s.shape[1] == 0)
      return void(found.misfit(s, "scales of [" + std::to_string(t.shape[0]) + ", groups]"));
    const std::size_t row_bits = t.shape[1] * 32, groups = s.shape[1];
    if (s.dtype == io::DType::u8) {
      const std::size_t block_bits = row_bits % groups == 0 ? row_bits / groups : 0;
      if (block_bits != 64 && block_bits != 128 && block_bits != 256)
        return void(found.misfit(s, "a scale of 16 codes of 4 bits, or of 32 of 4 or 8 bits"));
      w.bits = block_bits == 256 ? 8 : 4;
      w.group_size = block_bits == 64 ? 16 : 32;
      w.scheme = block_bits == 64 ? "mlx nvfp4" : w.bits == 8 ? "mlx mxfp8" : "mlx mxfp4";
    } else {
      if (!found.require_scale_type(s) || !found.require("biases", s.dtype, all_scales.shape))
        return;
      const std::size_t size = found.hints().group_size, codes = groups * size;
      if (size == 0)
        return void(
            found.problem("expected one group_size in config.json, without which the bits "
                          "of codes are not known, got none"));
      w.bits = row_bits % codes == 0 ? static_cast<int>(row_bits / codes) : 0;
      if ((w.bits < 2 || w.bits > 6) && w.bits != 8)
        return void(found.misfit(
            t, "codes of 2, 3, 4, 5, 6 or 8 bits in groups of " + std::to_string(size)));
      w.group_size = size;
      w.dtype = io::detail::float_type(s.dtype);
      w.scheme = "mlx uint" + std::to_string(w.bits) + ", groups of " + std::to_string(size);
    }
    w.shape = {t.shape[0], w.group_size * groups};
  }
};

}  // namespace tq::checkpoints

// SPDX-License-Identifier: MIT
#pragma once
// mxfp4: the experts of gpt-oss, as vLLM, SGLang, transformers and mlx-lm load them.

#include <tq/checkpoints/detail/tensor_parallel.hpp>
#include <tq/checkpoints/detail/written_floats.hpp>
#include <tq/checkpoints/mxfp4.hpp>
#include <tq/checkpoints/weight_coder.hpp>
#include <tq/checkpoints/writable_format.hpp>
#include <tq/error.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tq::format {

/// MXFP4 of all experts of a layer together, [experts, outputs, inputs], for models of type
/// gpt_oss. Other models have the scheme in `compressed_tensors`.
/// Source: gpt-oss, gpt_oss/torch/weights.py.
struct mxfp4 {
  static constexpr std::string_view name = "mxfp4", metadata = "pt";
  static constexpr bool takes_experts_whole = true;

  void require_valid() const {}

  /// Empty where the layer fits, else the reason.
  [[nodiscard]] std::string problem(const io::LinearWeight& layer, std::size_t processors) const {
    if (layer.experts == 0)
      return "gpt-oss has MXFP4 in experts only; its other layers stay floats";
    io::detail::Shard shard(layer, processors);
    shard.require_inputs(32, "its blocks");
    return shard.problem;
  }

  [[nodiscard]] bool needs_set_abs_max() const { return false; }

  /// Names, types and shapes of the parts. Precondition: the layer has no `problem`.
  [[nodiscard]] std::vector<io::TensorDecl> declarations(const io::LinearWeight& layer) const {
    return checkpoints::Mxfp4::declarations(layer);
  }

  /// The parts of float32 values, which may be a transposed view. Throws: `errc::not_finite`;
  /// `errc::shape_mismatch`.
  [[nodiscard]] std::vector<io::Tensor> quantize(const io::LinearWeight& layer,
                                                 const ConstTensorView& values,
                                                 const io::WeightCoder* coder = nullptr) const {
    return save(layer, {detail::encode_microscaled<float4_e2m1fn, default_backend>(values, coder)});
  }

  /// The parts of codes that exist. Throws: `errc::unsupported` for codes of another scheme.
  [[nodiscard]] std::vector<io::Tensor> save(const io::LinearWeight& layer,
                                             const CheckpointTensor& weight) const {
    return checkpoints::Mxfp4::save(layer, weight);
  }

  /// The value of "quantization_config". Throws: `errc::unsupported` for another type of model.
  [[nodiscard]] io::Json quantization_config(const io::WrittenModel& model) const {
    if (model.model_type != "gpt_oss")
      tq::detail::raise_expected(
          errc::unsupported, "mxfp4", {"a model of type gpt_oss, which alone engines load in it"},
          {tq::detail::in_quotes(model.model_type), " (compressed-tensors has mxfp4 too)"});
    return {{"modules_to_not_convert",
             io::Json::array({"model.layers.*.self_attn", "model.layers.*.mlp.router",
                              "model.embed_tokens", "lm_head"})},
            {"quant_method", "mxfp4"}};
  }

  [[nodiscard]] std::vector<std::string> notes() const { return {}; }
};

}  // namespace tq::format

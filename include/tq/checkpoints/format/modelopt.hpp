// SPDX-License-Identifier: MIT
#pragma once
// modelopt: NVFP4 weights of NVIDIA Model Optimizer, as vLLM, SGLang and TensorRT-LLM load them.

#include <tq/checkpoints/detail/tensor_parallel.hpp>
#include <tq/checkpoints/detail/written_floats.hpp>
#include <tq/checkpoints/nvfp4.hpp>
#include <tq/checkpoints/weight_coder.hpp>
#include <tq/checkpoints/writable_format.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tq::format {

/// NVFP4 with one scale for a fused set, which multiplies; activations stay floats, for their
/// scales need data. Source: TensorRT Model Optimizer, modelopt/torch/export/unified_export_hf.py.
struct modelopt {
  static constexpr std::string_view name = "modelopt", metadata = "pt";
  static constexpr bool takes_experts_whole = false;

  void require_valid() const {}

  /// Empty where the layer fits, else the reason.
  [[nodiscard]] std::string problem(const io::LinearWeight& layer, std::size_t processors) const {
    if (layer.experts != 0) return "expected a matrix for each expert, got one tensor of all";
    io::detail::Shard shard(layer, processors);
    shard.require_inputs(16, "its blocks");
    shard.require_outputs(16, "tiles of kernels");
    return shard.problem;
  }

  [[nodiscard]] bool needs_set_abs_max() const { return true; }

  /// Names, types and shapes of the parts. Precondition: the layer has no `problem`.
  [[nodiscard]] std::vector<io::TensorDecl> declarations(const io::LinearWeight& layer) const {
    return checkpoints::Nvfp4::declarations(layer, multiplier);
  }

  /// The parts of float32 values. Throws: `errc::not_finite`; `errc::shape_mismatch`;
  /// `errc::bad_argument` for values beyond `layer.set_abs_max`.
  [[nodiscard]] std::vector<io::Tensor> quantize(const io::LinearWeight& layer,
                                                 const ConstTensorView& values,
                                                 const io::WeightCoder* coder = nullptr) const {
    io::LinearWeight of_set = layer;
    CheckpointTensor weight{
        detail::encode_nvfp4<default_backend>(values, of_set, multiplier, coder)};
    return save(of_set, weight);
  }

  /// The parts of codes that exist. Throws: `errc::unsupported` for codes of another scheme.
  [[nodiscard]] std::vector<io::Tensor> save(const io::LinearWeight& layer,
                                             const CheckpointTensor& weight) const {
    return checkpoints::Nvfp4::save(layer, multiplier, weight);
  }

  /// The value of "quantization_config".
  [[nodiscard]] io::Json quantization_config(const io::WrittenModel& model) const {
    const io::Json weights{
        {"dynamic", false}, {"num_bits", 4}, {"type", "float"}, {"group_size", 16}};
    return {{"config_groups",
             {{"group_0", {{"weights", weights}, {"targets", io::Json::array({"Linear"})}}}}},
            {"ignore", model.left},
            {"quant_algo", algorithm},
            {"producer", producer()},
            {"quant_method", "modelopt"}};
  }

  /// The file that TensorRT-LLM reads.
  [[nodiscard]] static std::vector<std::pair<std::string, io::Json>> more_config(
      const io::Json& config) {
    return {{"hf_quant_config.json",
             {{"producer", producer()},
              {"quantization",
               {{"quant_algo", algorithm},
                {"kv_cache_quant_algo", nullptr},
                {"group_size", 16},
                {"exclude_modules", config.at("ignore")}}}}}};
  }

  [[nodiscard]] std::vector<std::string> notes() const {
    return {"modelopt: vLLM, SGLang and TensorRT-LLM; transformers does not know it"};
  }

 private:
  static constexpr auto multiplier = io::detail::Nvfp4Scales::Kind::multiplier;
  static constexpr const char* algorithm = "W4A16_NVFP4";
  [[nodiscard]] static io::Json producer() { return {{"name", "modelopt"}, {"version", "0.37.0"}}; }
};

}  // namespace tq::format

// SPDX-License-Identifier: MIT
#pragma once
// modelopt: weights of NVIDIA Model Optimizer, as vLLM, SGLang and TensorRT-LLM load them.

#include <tq/checkpoints/detail/stored_input_scale.hpp>
#include <tq/checkpoints/detail/tensor_parallel.hpp>
#include <tq/checkpoints/detail/written_floats.hpp>
#include <tq/checkpoints/nvfp4.hpp>
#include <tq/checkpoints/scaled_float8.hpp>
#include <tq/checkpoints/weight_coder.hpp>
#include <tq/checkpoints/writable_format.hpp>
#include <tq/error.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tq::format {

/// Schemes of ModelOpt with one scale for a fused set, which multiplies: "nvfp4", whose activations
/// stay floats; "nvfp4-w4a4" and "fp8-static" with activations in NVFP4 and float8, whose scales
/// are stored and need `CheckpointOptions::inputs`.
/// Source: TensorRT Model Optimizer, modelopt/torch/export/unified_export_hf.py.
struct modelopt {
  static constexpr std::string_view name = "modelopt", metadata = "pt";
  static constexpr bool takes_experts_whole = false;

  std::string scheme = "nvfp4";

  friend bool operator==(const modelopt&, const modelopt&) = default;

  /// Throws: `errc::unknown_name` for the scheme.
  void require_valid() const {
    if (scheme != "nvfp4" && scheme != "nvfp4-w4a4" && scheme != "fp8-static")
      tq::detail::raise_expected(errc::unknown_name, "modelopt",
                                 {"a scheme of nvfp4, nvfp4-w4a4, fp8-static"},
                                 {tq::detail::in_quotes(scheme)});
  }

  /// Empty where the layer fits, else the reason. Throws: as `require_valid`.
  [[nodiscard]] std::string problem(const io::LinearWeight& layer, std::size_t processors) const {
    require_valid();
    if (layer.experts != 0) return "expected a matrix for each expert, got one tensor of all";
    io::detail::Shard shard(layer, processors);
    shard.require_inputs(16, is_float8() ? "tiles of kernels" : "its blocks");
    shard.require_outputs(16, "tiles of kernels");
    return shard.problem;
  }

  [[nodiscard]] bool needs_set_abs_max() const { return true; }

  /// Whether a part holds a scale of activations.
  [[nodiscard]] bool needs_inputs_abs_max(const io::LinearWeight&) const {
    return input_scale().is_stored();
  }

  /// Names, types and shapes of the parts. Precondition: the layer has no `problem`.
  [[nodiscard]] std::vector<io::TensorDecl> declarations(const io::LinearWeight& layer) const {
    std::vector<io::TensorDecl> out =
        is_float8() ? checkpoints::ScaledFloat8::declarations(layer, float8(layer))
                    : checkpoints::Nvfp4::declarations(layer, multiplier);
    if (input_scale().is_stored()) out.push_back(input_scale().declaration(layer));
    return out;
  }

  /// The parts of float32 values. Throws: `errc::not_finite`; `errc::shape_mismatch`;
  /// `errc::bad_argument` for values beyond `layer.set_abs_max`; as `save`.
  [[nodiscard]] std::vector<io::Tensor> quantize(const io::LinearWeight& layer,
                                                 const ConstTensorView& values,
                                                 const io::WeightCoder* coder = nullptr) const {
    using B = default_backend;
    io::LinearWeight of_set = layer;
    CheckpointTensor weight{is_float8()
                                ? detail::encode_float8<B>(values, of_set, io::DType::f32, coder)
                                : detail::encode_nvfp4<B>(values, of_set, multiplier, coder)};
    return save(of_set, weight);
  }

  /// The parts of codes that exist. Throws: `errc::unsupported` for codes of another scheme;
  /// `errc::bad_argument` for a layer whose inputs are not known, where a scale of these is stored.
  [[nodiscard]] std::vector<io::Tensor> save(const io::LinearWeight& layer,
                                             const CheckpointTensor& weight) const {
    std::vector<io::Tensor> out = is_float8() ? detail::save_float8(layer, float8(layer), weight)
                                              : checkpoints::Nvfp4::save(layer, multiplier, weight);
    input_scale().append_to(out, layer);
    return out;
  }

  /// The value of "quantization_config".
  [[nodiscard]] io::Json quantization_config(const io::WrittenModel& model) const {
    io::Json codes{{"dynamic", false}, {"num_bits", is_float8() ? 8 : 4}, {"type", "float"}};
    if (!is_float8()) codes["group_size"] = 16;
    io::Json group{{"weights", codes}, {"targets", io::Json::array({"Linear"})}};
    if (input_scale().is_stored()) group["input_activations"] = codes;
    return {{"config_groups", {{"group_0", group}}},
            {"ignore", model.left},
            {"quant_algo", algorithm()},
            {"producer", producer()},
            {"quant_method", "modelopt"}};
  }

  /// The file that TensorRT-LLM reads.
  [[nodiscard]] std::vector<std::pair<std::string, io::Json>> more_config(
      const io::Json& config) const {
    io::Json how{{"quant_algo", algorithm()}, {"kv_cache_quant_algo", nullptr}};
    if (!is_float8()) how["group_size"] = 16;
    how["exclude_modules"] = config.at("ignore");
    return {{"hf_quant_config.json", {{"producer", producer()}, {"quantization", how}}}};
  }

  [[nodiscard]] std::vector<std::string> notes() const {
    return {"modelopt: vLLM, SGLang and TensorRT-LLM; transformers does not know it"};
  }

 private:
  static constexpr auto multiplier = io::detail::Nvfp4Scales::Kind::multiplier;

  [[nodiscard]] bool is_float8() const { return scheme == "fp8-static"; }
  [[nodiscard]] const char* algorithm() const {
    if (is_float8()) return "FP8";
    return input_scale().is_stored() ? "NVFP4" : "W4A16_NVFP4";
  }
  [[nodiscard]] io::detail::StoredInputScale input_scale() const {
    if (scheme == "nvfp4") return {};
    return {".input_scale", is_float8() ? 448.0f : 2688.0f, false, 0};
  }
  // One scale for all codes of E4M3.
  [[nodiscard]] static checkpoints::ScaledFloat8::Written float8(const io::LinearWeight& layer) {
    return {".weight_scale", io::DType::f32, layer.outputs, layer.inputs, 0};
  }
  [[nodiscard]] static io::Json producer() { return {{"name", "modelopt"}, {"version", "0.37.0"}}; }
};

}  // namespace tq::format

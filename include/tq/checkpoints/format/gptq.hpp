// SPDX-License-Identifier: MIT
#pragma once
// gptq: weights in the layout of GPTQ, as vLLM, SGLang and transformers load them.

#include <tq/checkpoints/detail/encode_stored.hpp>
#include <tq/checkpoints/detail/tensor_parallel.hpp>
#include <tq/checkpoints/detail/written_names.hpp>
#include <tq/checkpoints/gptq.hpp>
#include <tq/checkpoints/integer_scheme.hpp>
#include <tq/checkpoints/weight_coder.hpp>
#include <tq/checkpoints/writable_format.hpp>
#include <tq/error.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tq::format {

/// GPTQ's layout with inputs in their order (desc_act false), whatever the order of rounding.
/// Source: GPTQModel and AutoGPTQ, BaseQuantLinear.pack.
struct gptq {
  static constexpr std::string_view name = "gptq", metadata = "pt";
  static constexpr bool takes_experts_whole = false, takes_head = true;

  int bits = 4;                  ///< 2, 3, 4 or 8
  std::size_t group_size = 128;  ///< inputs of a scale; 0: one for each output
  bool is_symmetric = true;
  int version = 1;  ///< of checkpoint_format: "gptq", which stores zero points less 1, or "gptq_v2"

  /// Throws: `errc::unsupported` for options that no engine runs.
  void require_valid() const {
    const auto refuse = [](const std::string& expected, const std::string& got) {
      tq::detail::raise_expected(errc::unsupported, "gptq", {expected}, {got});
    };
    if (bits != 2 && bits != 3 && bits != 4 && bits != 8)
      refuse("2, 3, 4 or 8 bits, which GPTQModel packs", std::to_string(bits));
    if (group_size != 0 && group_size != 32 && group_size != 64 && group_size != 128)
      refuse("groups of 32, 64 or 128 inputs, or 0 for one for each output (vLLM, Marlin)",
             std::to_string(group_size));
    if (version != 1 && version != 2)
      refuse("version 1 or 2 of checkpoint_format", std::to_string(version));
  }

  /// Empty where the layer fits, else the reason. Throws: as `require_valid`.
  [[nodiscard]] std::string problem(const io::LinearWeight& layer, std::size_t processors) const {
    require_valid();
    if (layer.experts != 0) return "expected a matrix for each expert, got one tensor of all";
    io::detail::Shard shard(layer, processors);
    shard.require_inputs(group_size != 0 ? group_size : 32, "its groups, in whole words");
    shard.require_outputs(32, "whole words of zero points");
    return shard.problem;
  }

  [[nodiscard]] bool needs_set_abs_max() const { return false; }

  /// Names, types and shapes of the parts. Precondition: the layer has no `problem`.
  [[nodiscard]] std::vector<io::TensorDecl> declarations(const io::LinearWeight& layer) const {
    return checkpoints::Gptq::declarations(layer, integers());
  }

  /// The parts of float32 values. Throws: `errc::not_finite`; `errc::shape_mismatch`;
  /// `errc::bad_scale` for scales beyond F16.
  [[nodiscard]] std::vector<io::Tensor> quantize(const io::LinearWeight& layer,
                                                 const ConstTensorView& values,
                                                 const io::WeightCoder* coder = nullptr) const {
    const auto round = [](StoredParameters& p, std::span<const Range>) {
      detail::round_scales(p.scales.factors, io::DType::f16);
    };
    // Version 1 has no zero point 0: a range of positive values begins one step below 0.
    const auto widen = [&](std::span<Range> ranges) {
      if (is_symmetric || version == 2) return;
      constexpr float least_scale = 0x1p-24f;  // of F16
      const auto steps = static_cast<float>((1 << bits) - 2);
      for (Range& r : ranges) r.min = std::min(r.min, -std::max(r.max / steps, least_scale));
    };
    return save(layer, {detail::encode_stored<default_backend>(values, integers().spec(layer),
                                                               coder, round, widen)});
  }

  /// The parts of codes that exist. Throws: `errc::unsupported` for codes of another scheme and for
  /// scales that F16 does not hold; `errc::bad_zero_point` for a zero point 0 in version 1.
  [[nodiscard]] std::vector<io::Tensor> save(const io::LinearWeight& layer,
                                             const CheckpointTensor& weight) const {
    using B = default_backend;
    if (version == 2)
      return checkpoints::Gptq::save<B, layouts::gptq::V2>(layer, integers(), weight);
    return checkpoints::Gptq::save<B, layouts::gptq::V1>(layer, integers(), weight);
  }

  /// The value of "quantization_config". Layers that stay floats are skipped by rules of "dynamic".
  [[nodiscard]] io::Json quantization_config(const io::WrittenModel& model) const {
    io::Json out = options();
    out["quant_method"] = "gptq";
    out["lm_head"] = std::ranges::find(model.quantized, "lm_head") != model.quantized.end();
    io::Json rules = io::Json::object();
    for (const std::string& module : model.left)
      if (module != "lm_head")
        rules["-:^" + io::detail::literal(module) + "$"] = io::Json::object();
    if (!rules.empty()) out["dynamic"] = std::move(rules);
    return out;
  }

  /// The file of old loaders.
  [[nodiscard]] static std::vector<std::pair<std::string, io::Json>> more_config(io::Json config) {
    config.erase("quant_method");
    return {{"quantize_config.json", std::move(config)}};
  }

  /// Engines that load the scheme only under conditions.
  [[nodiscard]] std::vector<std::string> notes() const {
    std::vector<std::string> out;
    if (!is_symmetric)
      out.push_back("asymmetric gptq: transformers with GPTQModel, and SGLang; vLLM refuses it");
    if (bits < 4)
      out.push_back("gptq of " + std::to_string(bits) +
                    " bits: transformers with GPTQModel; vLLM has 4 and 8 bits only");
    if (version == 2 && is_symmetric)
      out.push_back(
          "gptq_v2: vLLM does not read the zero points; version 1 is read by all engines");
    return out;
  }

 private:
  [[nodiscard]] io::IntegerScheme integers() const { return {bits, group_size, is_symmetric}; }

  [[nodiscard]] io::Json options() const {
    const auto size = group_size == 0 ? -1 : static_cast<int>(group_size);
    return {{"bits", bits},
            {"group_size", size},
            {"sym", is_symmetric},
            {"desc_act", false},
            {"damp_percent", 0.1},
            {"true_sequential", true},
            {"checkpoint_format", version == 1 ? "gptq" : "gptq_v2"},
            {"pack_dtype", "int32"},
            {"meta", {{"quantizer", io::Json::array({"tq:" + io::detail::version_text()})}}}};
  }
};

}  // namespace tq::format

// SPDX-License-Identifier: MIT
#pragma once
// Models that transformers does not load in a format that it loads otherwise.

#include <tq/checkpoints/detail/layer_names.hpp>
#include <tq/checkpoints/written_model.hpp>
#include <tq/json/json_text.hpp>
#include <tq/model/detail/name_parts.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace tq::io::detail {

// Types whose classes read `weight` of linear layers, which packed layers do not have. Source:
// transformers 5.24, _init_weights and forward of modeling_<type>.py.
inline constexpr std::array<std::string_view, 5> types_without_packed{
    "falcon", "falcon_mamba", "mamba", "mamba2", "gpt_bigcode"};

// Types whose experts transformers loads as one tensor alone. Source: transformers 5.24,
// conversion_mapping.py.
inline constexpr std::array<std::string_view, 12> types_of_fused_experts{
    "qwen3_vl_moe",    "gemma4",    "mistral4",
    "step3p7",         "hy_v4",     "hy_v4_vl",
    "inkling",         "zaya",      "openai_privacy_filter",
    "diffusion_gemma", "lara_mini", "muse_spark"};

// The text under a key; empty where there is none. Throws: as Json for a value of another type.
[[nodiscard]] inline std::string text_under(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? std::string() : found->get<std::string>();
}

// The groups of a configuration of compressed-tensors; empty for other formats.
[[nodiscard]] inline std::vector<Json> groups_of(const Json& config) {
  std::vector<Json> out;
  const auto groups = config.find("config_groups");
  if (groups == config.end() || text_under(config, "quant_method") != "compressed-tensors")
    return out;
  for (const Json& group : *groups) out.push_back(group);
  return out;
}

// True for layers whose codes have another name or shape than their floats.
[[nodiscard]] inline bool is_packed(const Json& config) {
  const std::string method = text_under(config, "quant_method");
  return method == "gptq" || method == "awq" ||
         std::ranges::any_of(groups_of(config), [](const Json& group) {
           return text_under(group, "format").ends_with("pack-quantized");
         });
}

// The scheme of experts that transformers does not load, or empty. Source: transformers 5.24,
// integrations/compressed_tensors.py.
[[nodiscard]] inline std::string expert_scheme_of_others(const Json& config) {
  const std::string method = text_under(config, "quant_method");
  if (method == "gptq" || method == "awq") return method;
  for (const Json& group : groups_of(config)) {
    const std::string format = text_under(group, "format");
    if (format == "int-quantized" || format == "mxfp8-quantized" ||
        format == "nvfp4-pack-quantized")
      return format;
    if (!group.at("weights").value("symmetric", true)) return "asymmetric " + format;
    const auto activations = group.find("input_activations");
    if (activations == group.end() || !activations->is_object()) continue;
    const auto dynamic = activations->find("dynamic");
    if (dynamic != activations->end() && dynamic->is_boolean() && !dynamic->get<bool>())
      return format + " with stored scales of activations, which it leaves aside";
  }
  return {};
}

/// Reason why transformers does not load the model, or computes wrong numbers with it; empty where
/// it loads it. `config`: the "quantization_config" of a format that transformers knows.
[[nodiscard]] inline std::string transformers_limit(const Json& config, const WrittenModel& model) {
  if (!config.is_object()) return {};
  std::string_view type = model.model_type;
  if (type.ends_with("_text")) type.remove_suffix(5);
  const auto has = [&](const auto& types) { return std::ranges::find(types, type) != types.end(); };
  if (is_packed(config) && has(types_without_packed))
    return "its class of " + model.model_type +
           " reads float weights, which packed layers do not have";
  const bool has_other_groups = std::ranges::any_of(groups_of(config), [](const Json& group) {
    return text_under(group, "format") != "float-quantized";
  });
  if (model.has_float_experts && has_other_groups)
    return "it loads experts in float beside layers of fp8 or bitsandbytes alone";
  if (type == "falcon" && text_under(config, "quant_method") == "bitsandbytes")
    return "its class of falcon has layers that bitsandbytes does not replace";
  if (type == "llama4" && text_under(config, "quant_method") == "bitsandbytes")
    return "its class of llama4 asks for experts of bitsandbytes one by one";
  const bool has_experts = std::ranges::any_of(
      model.quantized, [](const std::string& m) { return !before_experts(m).empty(); });
  if (!has_experts) return {};
  if (has(types_of_fused_experts))
    return "its class of " + model.model_type +
           " loads experts as one tensor alone (exclude \\.experts\\. leaves them in float)";
  const std::string scheme = expert_scheme_of_others(config);
  if (scheme.empty() || type == "llama4") return {};
  return "it does not load mixtures of experts in " + scheme;
}

}  // namespace tq::io::detail

// SPDX-License-Identifier: MIT
#pragma once
// Names in configurations: modules as regular expressions, and the program that wrote the files.

#include <tq/checkpoints/detail/layer_names.hpp>
#include <tq/checkpoints/written_model.hpp>
#include <tq/containers/dtype.hpp>
#include <tq/error.hpp>
#include <tq/version.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace tq::io::detail {

/// A regular expression of Python that matches this text and no other.
[[nodiscard]] inline std::string literal(std::string_view text) {
  constexpr std::string_view special = ".^$*+?{}[]\\|()-";
  std::string out;
  for (const char c : text) {
    if (special.find(c) != special.npos) out += '\\';
    out += c;
  }
  return out;
}

/// The name of a float type in Python.
[[nodiscard]] constexpr const char* torch_name(DType dtype) noexcept {
  return dtype == DType::f16 ? "float16" : dtype == DType::bf16 ? "bfloat16" : "float32";
}

/// Throws `errc::unsupported` where the name of a layer that stays float is the beginning of the
/// name of a quantized layer: engines that match beginnings would leave that layer too.
inline void require_distinct_names(const char* format, const WrittenModel& model) {
  for (const std::string& left : model.left)
    for (const std::string& module : model.quantized)
      if (module.starts_with(left))
        raise(errc::unsupported, std::string(format) +
                                     ": expected names of layers that engines "
                                     "tell apart by their beginnings, got " +
                                     left + ", which stays float, and " + module +
                                     ", which does not");
}

/// The name that mlx-lm gives to a module: the experts of a mixture are one stack there.
[[nodiscard]] inline std::string mlx_module(const std::string& module) {
  const std::string mixture = before_experts(module);
  if (mixture.empty()) return module;
  std::string name = module.substr(module.rfind('.') + 1);
  if (name == "w1") name = "gate_proj";
  if (name == "w2") name = "down_proj";
  if (name == "w3") name = "up_proj";
  return mixture + ".switch_mlp." + name;
}

/// Throws `errc::unsupported` for quantized experts that mlx-lm does not load: its classes of other
/// types of models stack the weights of experts, and leave their scales. Source: mlx-lm 0.32,
/// mlx_lm/models (sanitize).
inline void require_mlx_stacks(const WrittenModel& model) {
  static constexpr std::array<std::string_view, 20> types{
      "bailing_hybrid", "bailing_moe", "bailing_moe_linear",
      "deepseek",       "deepseek_v2", "deepseek_v3",
      "deepseek_v32",   "exaone_moe",  "glm4_moe",
      "glm4_moe_lite",  "hunyuan",     "jamba",
      "kimi_vl",        "laguna",      "longcat_flash",
      "mimo_v2_flash",  "mixtral",     "olmoe",
      "phimoe",         "qwen2_moe"};
  if (std::ranges::find(types, model.model_type) != types.end()) return;
  for (const std::string& module : model.quantized)
    if (!before_experts(module).empty())
      raise(errc::unsupported,
            "mlx: expected a type of model whose experts mlx-lm loads with their scales, got \"" +
                model.model_type + "\" with " + module +
                " (leave experts in float: exclude \\.experts\\.)");
}

/// "0.1.0".
[[nodiscard]] inline std::string version_text() {
  return std::to_string(TQ_VERSION_MAJOR) + "." + std::to_string(TQ_VERSION_MINOR) + "." +
         std::to_string(TQ_VERSION_PATCH);
}

}  // namespace tq::io::detail

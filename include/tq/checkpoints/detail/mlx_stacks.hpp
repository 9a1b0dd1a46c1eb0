// SPDX-License-Identifier: MIT
#pragma once
// The stacks of experts in folders of MLX: their names, and the types of models that have them.

#include <tq/checkpoints/detail/layer_names.hpp>
#include <tq/checkpoints/written_model.hpp>
#include <tq/error.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tq::io::detail {

// A type of model whose class in mlx-lm takes the experts of a layer as stacks in a module of that
// name: "switch_mlp.up_proj" [experts, outputs, inputs], or "experts.up_proj".
struct MlxStacks {
  std::string_view model_type;
  std::string_view container = "switch_mlp";
};

// Types whose `sanitize` leaves such stacks as they are. Others rename or change further tensors
// only where they find experts one by one. Source: mlx-lm 0.32, mlx_lm/models.
inline constexpr std::array mlx_stacks{MlxStacks{"afmoe", "experts"},
                                       MlxStacks{"bailing_hybrid"},
                                       MlxStacks{"bailing_moe"},
                                       MlxStacks{"bailing_moe_linear"},
                                       MlxStacks{"deepseek"},
                                       MlxStacks{"deepseek_v2"},
                                       MlxStacks{"deepseek_v3"},
                                       MlxStacks{"deepseek_v32"},
                                       MlxStacks{"dots1", "experts"},
                                       MlxStacks{"ernie4_5_moe"},
                                       MlxStacks{"exaone_moe"},
                                       MlxStacks{"glm4_moe"},
                                       MlxStacks{"glm4_moe_lite"},
                                       MlxStacks{"hunyuan"},
                                       MlxStacks{"jamba"},
                                       MlxStacks{"kimi_k2"},
                                       MlxStacks{"kimi_vl"},
                                       MlxStacks{"laguna"},
                                       MlxStacks{"llama4", "experts"},
                                       MlxStacks{"longcat_flash"},
                                       MlxStacks{"mellum"},
                                       MlxStacks{"mimo_v2_flash"},
                                       MlxStacks{"minimax_m2"},
                                       MlxStacks{"mistral4"},
                                       MlxStacks{"mixtral"},
                                       MlxStacks{"olmoe"},
                                       MlxStacks{"phimoe"},
                                       MlxStacks{"qwen2_moe"},
                                       MlxStacks{"qwen3_5_moe"},
                                       MlxStacks{"qwen3_moe"},
                                       MlxStacks{"qwen3_vl_moe"}};

// The stacks of a type of models, or null.
[[nodiscard]] constexpr const MlxStacks* find_mlx_stacks(std::string_view model_type) noexcept {
  const auto found = std::ranges::find(mlx_stacks, model_type, &MlxStacks::model_type);
  return found == mlx_stacks.end() ? nullptr : &*found;
}

// The names of Mixtral's projections, and those in stacks.
inline constexpr std::array<std::pair<std::string_view, std::string_view>, 3> mixtral_names{
    {{"w1", "gate_proj"}, {"w2", "down_proj"}, {"w3", "up_proj"}}};

/// The module of the stack that has the weight of an expert; empty for other modules, and for types
/// of models without stacks.
[[nodiscard]] inline std::string mlx_stack(std::string_view module, std::string_view model_type) {
  const std::string mixture = before_experts(module);
  const MlxStacks* const stacks = find_mlx_stacks(model_type);
  if (mixture.empty() || stacks == nullptr) return {};
  std::string_view name = module.substr(module.rfind('.') + 1);
  const auto renamed =
      std::ranges::find(mixtral_names, name, [](const auto& names) { return names.first; });
  if (renamed != mixtral_names.end()) name = renamed->second;
  return mixture + "." + std::string(stacks->container) + "." + std::string(name);
}

/// The name that mlx-lm gives to a module.
[[nodiscard]] inline std::string mlx_module(const std::string& module,
                                            std::string_view model_type) {
  std::string stack = mlx_stack(module, model_type);
  return stack.empty() ? module : stack;
}

/// The module of an expert in a stack, as models of floats name it; nothing where `stack` is the
/// name of no stack: "a.mlp.experts.3.up_proj" of "a.mlp.switch_mlp.up_proj".
[[nodiscard]] inline std::optional<std::string> mlx_expert(std::string_view stack,
                                                           std::size_t number) {
  for (const std::string_view container : {".switch_mlp.", ".experts."}) {
    const std::size_t at = stack.rfind(container);
    if (at == stack.npos || stack.find('.', at + container.size()) != stack.npos) continue;
    const std::string_view mixture = stack.substr(0, at);
    std::string_view name = stack.substr(at + container.size());
    if (mixture.ends_with("block_sparse_moe"))
      for (const auto& [own, in_stack] : mixtral_names)
        if (name == in_stack) name = own;
    return expert_module(mixture, number, name);
  }
  return std::nullopt;
}

/// Throws `errc::unsupported` for quantized experts of a type of model whose class in mlx-lm does
/// not load their stacks.
inline void require_mlx_stacks(const WrittenModel& model) {
  for (const std::string& module : model.quantized)
    if (!before_experts(module).empty() && mlx_stack(module, model.model_type).empty())
      tq::detail::raise_expected(errc::unsupported, "mlx",
                                 {"a type of model whose stacks of experts mlx-lm loads"},
                                 {tq::detail::in_quotes(model.model_type), " with ", module,
                                  " (leave experts in float: exclude \\.experts\\.)"});
}

}  // namespace tq::io::detail

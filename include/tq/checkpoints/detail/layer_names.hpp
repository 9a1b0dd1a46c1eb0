// SPDX-License-Identifier: MIT
#pragma once
// The names that language models give to linear layers of their blocks.

#include <tq/model/detail/name_parts.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tq::io::detail {

// A linear layer of a block by the last component of its module, in lower case. Layers of one
// parent with the same `set` are one product in engines.
struct LayerName {
  std::string_view name, set;
};

inline constexpr std::array layer_names{
    LayerName{"q_proj", "qkv"},
    LayerName{"k_proj", "qkv"},
    LayerName{"v_proj", "qkv"},
    LayerName{"o_proj", ""},
    LayerName{"gate_proj", "gate_up"},
    LayerName{"up_proj", "gate_up"},
    LayerName{"down_proj", ""},
    LayerName{"w1", "w1_w3"},
    LayerName{"w3", "w1_w3"},
    LayerName{"w2", ""},
    LayerName{"q_a_proj", "q_kv_a"},
    LayerName{"kv_a_proj_with_mqa", "q_kv_a"},
    LayerName{"q_b_proj", ""},
    LayerName{"kv_b_proj", ""},
    LayerName{"in_proj_qkv", "qkvz"},
    LayerName{"in_proj_z", "qkvz"},
    LayerName{"in_proj_qkvz", ""},
    LayerName{"out_proj", ""},
    LayerName{"qkv_proj", ""},
    LayerName{"gate_up_proj", ""},
    LayerName{"query_key_value", ""},
    LayerName{"wqkv", ""},
    LayerName{"wq", "qkv"},
    LayerName{"wk", "qkv"},
    LayerName{"wv", "qkv"},
    LayerName{"wo", ""},
    LayerName{"query", "qkv"},
    LayerName{"key", "qkv"},
    LayerName{"value", "qkv"},
    LayerName{"dense", ""},
    LayerName{"dense_h_to_4h", ""},
    LayerName{"dense_4h_to_h", ""},
    LayerName{"fc1", ""},
    LayerName{"fc2", ""},
    LayerName{"fc_in", ""},
    LayerName{"fc_out", ""},
    LayerName{"c_attn", ""},
    LayerName{"c_fc", ""},
    LayerName{"c_proj", ""},
    LayerName{"input_linear", ""},
    LayerName{"output_linear", ""},
};

// Projections that engines keep in float: they are small, or belong to no quantized product.
inline constexpr std::array<std::string_view, 7> float_projections{
    "in_proj_a", "in_proj_b", "in_proj_ba", "x_proj", "dt_proj", "weights_proj", "eh_proj"};

// Heads of other names than "lm_head", which classes of models have although the file has no weight
// for them.
struct TiedHead {
  std::string_view model_type, module;
};
inline constexpr std::array tied_heads{
    TiedHead{"bert", "cls.predictions.decoder"}, TiedHead{"ernie", "cls.predictions.decoder"},
    TiedHead{"biogpt", "output_projection"},     TiedHead{"roberta", "lm_head.decoder"},
    TiedHead{"xlm-roberta", "lm_head.decoder"},  TiedHead{"xlm-roberta-xl", "lm_head.decoder"},
    TiedHead{"camembert", "lm_head.decoder"},    TiedHead{"electra", "generator_lm_head"},
    TiedHead{"distilbert", "vocab_projector"},   TiedHead{"albert", "predictions.decoder"},
    TiedHead{"modernbert", "decoder"},           TiedHead{"esm", "lm_head.decoder"},
};

// The layer of a block that has such a name, or nothing.
[[nodiscard]] inline std::optional<LayerName> layer_name(std::string_view name) {
  for (const LayerName& each : layer_names)
    if (each.name == name) return each;
  if (name.ends_with("_proj") && !tq::detail::is_one_of(name, float_projections))
    return LayerName{name, ""};
  return std::nullopt;
}

inline constexpr std::string_view experts_in_name = ".experts.";

// The name of a module up to the stack of experts that it is in, or empty: "model.layers.0.mlp" of
// "model.layers.0.mlp.experts.3.up_proj".
[[nodiscard]] inline std::string before_experts(std::string_view module) {
  const std::size_t at = module.find(experts_in_name);
  return at == module.npos ? std::string() : std::string(module.substr(0, at));
}

// The parts of the module of an expert: "a.mlp", "3" and "up_proj" of "a.mlp.experts.3.up_proj".
struct ExpertName {
  std::string mixture, number, layer;

  // Nothing where it is no number, or a longer one than models have experts.
  [[nodiscard]] std::optional<std::size_t> index() const {
    if (!tq::detail::is_number(number) || number.size() > 8) return std::nullopt;
    return std::stoul(number);
  }
};

// Nothing for a module that is in no stack of experts.
[[nodiscard]] inline std::optional<ExpertName> expert_name(std::string_view module) {
  std::string mixture = before_experts(module);
  if (mixture.empty()) return std::nullopt;
  const std::string_view rest = module.substr(mixture.size() + experts_in_name.size());
  const std::size_t end = std::min(rest.find('.'), rest.size());
  return ExpertName{std::move(mixture), std::string(rest.substr(0, end)),
                    std::string(rest.substr(std::min(end + 1, rest.size())))};
}

// The module of an expert: "a.mlp.experts.3.up_proj".
[[nodiscard]] inline std::string expert_module(std::string_view mixture, std::size_t number,
                                               std::string_view layer) {
  return std::string(mixture) + std::string(experts_in_name) + std::to_string(number) + '.' +
         std::string(layer);
}

// The layers that engines take as one product with a module: "model.layers.0.self_attn.qkv" of its
// k_proj; the module itself where it is alone. `name`: of the layer that the module is.
[[nodiscard]] inline std::string product_of(std::string_view module, const LayerName& name) {
  const std::string parent(module.substr(0, module.rfind('.') + 1));  // npos + 1 is 0
  return parent + std::string(name.set.empty() ? name.name : name.set);
}

// The layers that have one scheme with a module: those of its product, or all experts of a mixture.
[[nodiscard]] inline std::string scheme_set_of(std::string_view module, const LayerName& name) {
  const std::string mixture = before_experts(module);
  return mixture.empty() ? product_of(module, name) : mixture + ".experts";
}

// The number of the block that a tensor is in, or nothing.
[[nodiscard]] inline std::optional<std::size_t> block_of(const tq::detail::NameParts& parts) {
  static constexpr std::array<std::string_view, 5> stacks{"layers", "h", "blocks", "layer",
                                                          "block"};
  for (std::size_t i = 1; i < parts.all().size(); ++i) {
    const std::string& number = parts.all()[i];
    if (number.size() < 9 && tq::detail::is_number(number) &&
        tq::detail::is_one_of(parts.all()[i - 1], stacks))
      return std::stoul(number);
  }
  return std::nullopt;
}

// "vision tower" for a tensor of a part that sees or hears, else empty.
[[nodiscard]] inline std::string tower_of(const tq::detail::NameParts& parts) {
  static constexpr std::array<std::string_view, 8> words{"visual", "vision", "image",     "vit",
                                                         "audio",  "speech", "projector", "merger"};
  for (const std::string& part : parts.all())
    for (const std::string_view word : words)
      if (word == "vit" ? part == word : part.find(word) != part.npos)
        return word == "audio" || word == "speech" ? "audio tower" : "vision tower";
  return "";
}

[[nodiscard]] inline bool is_prediction_part(const tq::detail::NameParts& parts) {
  for (const std::string& part : parts.all())
    if (part == "mtp" || part.starts_with("mtp_") || part.find("nextn") != part.npos) return true;
  return false;
}

}  // namespace tq::io::detail

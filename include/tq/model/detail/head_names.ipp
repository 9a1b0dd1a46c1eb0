// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/model/detail/head_names.hpp.

#include <tq/model/detail/head_names.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace tq::detail {

TQ_API bool names_language_head(const NameParts& name) {
  return name.any([](const std::string& part) {
    const auto words = words_of(part);
    for (std::size_t i = 0; i + 1 < words.size(); ++i)
      if (words[i] == "lm" && words[i + 1].starts_with("head")) return true;
    return part == "lmhead";
  });
}

TQ_API bool is_head_component(std::string_view part) {
  static constexpr std::array<std::string_view, 14> exact{"head",
                                                          "heads",
                                                          "output_layer",
                                                          "embed_out",
                                                          "qa_outputs",
                                                          "seq_relationship",
                                                          "vocab_projector",
                                                          "vocab_projection",
                                                          "vocab_proj",
                                                          "class_embed",
                                                          "unembed",
                                                          "pred_layer",
                                                          "regression_layer",
                                                          "lm_output"};
  static constexpr std::array<std::string_view, 6> ends{"head",   "heads",   "classifier",
                                                        "logits", "unembed", "unembedding"};
  const auto words = words_of(part);
  if (words.empty() || words.front() == "pre") return false;
  return is_one_of(part, exact) || is_one_of(words.back(), ends);
}

// The last product inside a head: "classification_head.out_proj", "head.fc".
TQ_API bool ends_a_head(std::string_view parent, std::string_view last) {
  static constexpr std::array<std::string_view, 12> ends{
      "out_proj", "decoder", "fc",    "proj",   "summary",  "last_layer",
      "linear",   "out",     "final", "output", "proj_out", "w_u"};
  const auto words = words_of(parent);
  const bool is_inside = is_head_component(parent) || parent == "generator" ||
                         (!words.empty() && words.back() == "predictions");
  return is_inside && is_one_of(last, ends);
}

// Heads that share their names with parts of layers: outside of numbered layers only.
TQ_API bool names_outer_head(const std::string& part) {
  static constexpr std::array<std::string_view, 9> exact{
      "output", "score",  "proj_out",          "text_projection", "visual_projection",
      "ff_out", "ctc_lo", "output_projection", "ctc_proj"};
  static constexpr std::array<std::string_view, 4> ends{"score", "pred", "prediction",
                                                        "predictions"};
  const auto words = words_of(part);
  return is_one_of(part, exact) || (words.size() > 1 && is_one_of(words.back(), ends));
}

TQ_API bool names_head(const NameParts& name) {
  if (names_language_head(name)) return true;
  if (name.is_in_attention()) return false;
  std::string_view last = name.last(), parent = name.parent();
  if (is_number(last) && (parent == "class_embed" || parent == "heads")) last = parent;
  if (is_head_component(last) || ends_a_head(parent, last)) return true;
  if (name.has("bbox_embed") || name.has("bbox_predictor")) return true;
  return !name.is_in_layer() && names_outer_head(name.last());
}

TQ_API RouterName router_name(const NameParts& name) {
  const std::string& last = name.last();
  if (name.any([](const std::string& p) { return has_word(p, "router"); })) return RouterName::sure;
  if (last == "shared_expert_gate" || last.starts_with("ffn_gate_inp")) return RouterName::sure;
  if (last == "wg" && (name.has("gate") || name.has("gates"))) return RouterName::sure;
  if (name.is_in_attention()) return RouterName::none;
  static constexpr std::array<std::string_view, 6> gates{
      "moe_gate", "expert_gate", "gating", "gate_network", "gate", "moe_router"};
  if (!is_one_of(last, gates)) return RouterName::none;
  return last == "gate" && name.is_of_experts() ? RouterName::none : RouterName::gate;
}

}  // namespace tq::detail

// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/model/detail/kind_names.hpp.

#include <tq/model/detail/kind_names.hpp>

#include <array>
#include <string_view>
#include <vector>

namespace tq::detail {

TQ_API bool names_norm(const std::string& part) {
  if (part.ends_with("norm") || part.ends_with("layrnorm") || part.starts_with("running_"))
    return true;
  const std::string stem = part.substr(0, part.find_last_not_of("0123456789_f") + 1);
  static constexpr std::array<std::string_view, 8> stems{
      "ln", "bn", "norm", "layer_norm", "layernorm", "batchnorm", "groupnorm", "grn"};
  return is_one_of(stem, stems) || part == "gamma" || part == "beta" || part == "ln_x";
}

TQ_API bool names_position(const NameParts& name) {
  static constexpr std::array<std::string_view, 17> exact{"wpe",
                                                          "pe",
                                                          "rpe",
                                                          "pos_emb",
                                                          "rel_pos_h",
                                                          "rel_pos_w",
                                                          "inv_freq",
                                                          "rope_freqs",
                                                          "freqs_cis",
                                                          "freqs",
                                                          "cos_cached",
                                                          "sin_cached",
                                                          "cos_cache",
                                                          "sin_cache",
                                                          "rel_embeddings",
                                                          "attn_rel_b",
                                                          "relative_coords_table"};
  static constexpr std::array<std::string_view, 5> places{"pos", "position", "positions",
                                                          "positional", "relative"};
  static constexpr std::array<std::string_view, 13> tables{
      "embed",    "embeds",    "embedding", "embeddings", "emb",   "embd", "enc",
      "encoding", "encodings", "encoder",   "bias",       "table", "freqs"};
  const auto words = words_of(name.last());
  bool is_of_places = false, is_table = false, is_axis = false;
  for (const std::string_view word : words) {
    is_of_places = is_of_places || is_one_of(word, places);
    is_table = is_table || is_one_of(word, tables);
    is_axis = is_axis || word == "row" || word == "col" || word == "column";
  }
  static constexpr std::array<std::string_view, 5> products{"proj", "projection", "linear", "mlp",
                                                            "dense"};
  if (!words.empty() && is_one_of(words.back(), products)) return false;
  return is_one_of(name.last(), exact) || (is_table && (is_of_places || is_axis));
}

TQ_API bool names_embedding(const NameParts& name) {
  static constexpr std::array<std::string_view, 8> exact{
      "wte", "shared", "token_embd", "emb", "embed", "codebook", "embedding_table", "token_types"};
  static constexpr std::array<std::string_view, 5> others{"embed_out", "class_embed", "bbox_embed",
                                                          "pos_conv_embed", "time_embed"};
  const bool is_numbered = is_number(name.last()) && name.all().size() > 1;
  const std::string part(is_numbered ? name.parent() : std::string_view(name.last()));
  if (is_numbered) return part == "embed_tokens" || part == "embed" || part == "embeddings";
  if (is_one_of(part, others) || part.starts_with("patch_embed")) return false;
  return is_one_of(part, exact) || part.ends_with("embedding") || part.ends_with("embeddings") ||
         part.starts_with("embed_") || part.ends_with("_embed") || part.ends_with("_embd");
}

TQ_API bool names_attention(const NameParts& name) {
  static constexpr std::array<std::string_view, 20> exact{
      "q_proj",   "k_proj", "v_proj", "o_proj", "qkv_proj",    "qkv",           "c_attn",
      "to_q",     "to_k",   "to_v",   "to_qkv", "attn_q",      "attn_k",        "attn_v",
      "attn_qkv", "wq",     "wk",     "wv",     "attn_output", "in_proj_weight"};
  static constexpr std::array<std::string_view, 17> shared{"wo",
                                                           "value",
                                                           "key",
                                                           "query",
                                                           "out_proj",
                                                           "c_proj",
                                                           "proj",
                                                           "dense",
                                                           "q",
                                                           "k",
                                                           "v",
                                                           "o",
                                                           "gate",
                                                           "output",
                                                           "0",
                                                           "receptance",
                                                           "output_projection"};
  return is_one_of(name.last(), exact) ||
         (name.is_in_attention() && is_one_of(name.last(), shared));
}

TQ_API bool names_conv(const NameParts& name) {
  return name.any([](const std::string& part) {
    return part.find("conv") != part.npos || part.starts_with("patch_embed") ||
           part == "downsample" || part == "features" || part == "ups";
  });
}

TQ_API bool names_transposed_conv(const NameParts& name) {
  return name.any([](const std::string& part) {
    for (const std::string_view mark : {"convtranspose", "conv_transpose", "transposed_conv",
                                        "transpose_conv", "deconv", "convtr"})
      if (part.find(mark) != part.npos) return true;
    return part == "ups";
  });
}

}  // namespace tq::detail

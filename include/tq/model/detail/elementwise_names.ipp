// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/model/detail/elementwise_names.hpp.

#include <tq/model/detail/elementwise_names.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace tq::detail {

// "cls_token", "register_tokens", "query_embed", "latents": learned inputs, all of which are used.
TQ_API bool names_token(const std::string& part) {
  static constexpr std::array<std::string_view, 12> exact{
      "latents",    "latent",      "queries",     "query_embed", "query_embeds",
      "query_feat", "level_embed", "codevectors", "soft_prompt", "prompt_embeddings",
      "probe",      "mem_kv"};
  const auto words = words_of(part);
  if (words.empty()) return false;
  if (words.back() == "token" || words.back() == "tokens")
    return words.size() > 1 && !is_one_of("embed", words) && words.front() != "word";
  return is_one_of(part, exact);
}

// "layer_scale", "gamma_1", "scale_shift_table", "temperature".
TQ_API bool names_gain(const std::string& part) {
  static constexpr std::array<std::string_view, 20> gains{
      "scale",       "scales",     "gain",   "gains",  "alpha",  "lambda",    "lambda1",
      "lambda2",     "gamma",      "gamma1", "gamma2", "beta",   "decay",     "slope",
      "temperature", "multiplier", "ls1",    "ls2",    "slopes", "modulation"};
  const auto words = words_of(part);
  if (words.empty()) return false;
  const std::string_view word =
      words.size() > 1 && is_number(words.back()) ? words[words.size() - 2] : words.back();
  return is_one_of(word, gains) || part.starts_with("layer_scale") ||
         part.find("scale_shift") != part.npos || part == "weight_g" || part == "original0";
}

// Decays and mixtures of RWKV: "time_decay", "time_maa_w1"; in an attention also "w1" and "r_k".
TQ_API bool names_time_mixture(const NameParts& name) {
  static constexpr std::array<std::string_view, 8> mixtures{"decay", "first", "mix",   "maa",
                                                            "faaaa", "faaa",  "shift", "state"};
  static constexpr std::array<std::string_view, 5> products{"key", "value", "receptance", "gate",
                                                            "output"};
  static constexpr std::array<std::string_view, 21> small_ones{
      "w0", "w1",  "w2",  "a0",  "a1",  "a2",  "v0",  "v1",  "v2",  "g0", "g1",
      "g2", "r_k", "k_k", "k_a", "x_r", "x_w", "x_k", "x_v", "x_a", "x_g"};
  const auto words = words_of(name.last());
  if (words.size() > 1 && (words[0] == "time" || words[0] == "channel") &&
      is_one_of(words[1], mixtures))
    return words.size() != 3 || !is_one_of(words[2], products);
  if (name.any([](const std::string& p) { return p.size() == 6 && p.ends_with("_lora"); }))
    return true;
  return !name.is_weight() && name.is_in_attention() && is_one_of(name.last(), small_ones);
}

// States of Mamba and its kin: "A_log", "dt_bias", "ssm_a", the gates of a linear attention.
TQ_API bool names_state(const NameParts& name) {
  static constexpr std::array<std::string_view, 19> exact{
      "a_log",     "a_logs",       "ssm_a",     "ssm_d",          "ssm_conv1d",
      "log_dt",    "dt_bias",      "a_real",    "a_imag",         "log_a_real",
      "lambda_re", "lambda_im",    "in_proj_a", "in_proj_b",      "in_proj_ba",
      "embed_avg", "cluster_size", "a_param",   "recurrent_param"};
  static constexpr std::array<std::string_view, 3> raw{"a", "d", "ds"};
  return is_one_of(name.last(), exact) ||
         (!name.is_weight() && name.all().size() > 1 && is_one_of(name.last(), raw));
}

TQ_API bool names_elementwise(const NameParts& name) {
  static constexpr std::array<std::string_view, 7> ends{"bias",   "biases", "mask", "masks",
                                                        "buffer", "basis",  "state"};
  const auto words = words_of(name.whole_last());
  for (const std::string_view word : words)
    if (word == "bias" || word == "biases") return true;
  if (!words.empty() && is_one_of(words.back(), ends)) return true;
  if (name.whole_last() == "weight_g" || name.whole_last() == "original0") return true;
  if (!name.is_weight() && name.last() == "query") return true;
  return names_token(name.last()) || (!name.is_weight() && names_gain(name.last())) ||
         names_time_mixture(name) || names_state(name);
}

inline constexpr std::size_t most_short_taps = 8;

// Short filters of one channel each, in front of a recurrent state: [channels, 1, taps].
TQ_API bool names_short_filter(const NameParts& name) {
  static constexpr std::array<std::string_view, 6> around{"mixer",  "mamba",     "ssm",
                                                          "mixers", "shortconv", "temporal_block"};
  const std::string& last = name.last();
  if (last.ends_with("conv1d") || last.ends_with("conv_1d") || last.ends_with("short_conv") ||
      last.ends_with("shortconv"))
    return true;
  return last == "conv" && (name.parent() == "conv" || name.any([](const std::string& part) {
           return is_one_of(part, around);
         }));
}

TQ_API bool is_elementwise_shape(const NameParts& name, std::span<const std::size_t> extents) {
  if (extents.size() == 2)
    return std::min(extents[0], extents[1]) <= most_short_taps && names_short_filter(name);
  if (extents.size() < 3) return false;
  std::size_t long_axes = 0;
  for (const std::size_t extent : extents) long_axes += extent > 1 ? 1u : 0u;
  if (long_axes <= 1) return true;
  if (extents[0] == 1 && !name.is_weight() && !name.is_of_experts()) return true;
  return extents.size() == 3 && extents[1] == 1 && extents[2] <= most_short_taps &&
         names_short_filter(name);
}

}  // namespace tq::detail

// SPDX-License-Identifier: MIT
#pragma once
// NodeKind: what a tensor is in its model, given or guessed from its name.

#include <tq/scheme/detail/known_names.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tq {

/// What a node of a model is.
enum class NodeKind : std::uint8_t {
  linear,      ///< weights of a matrix product, or the product itself
  conv,        ///< filters
  embedding,   ///< tables of which rows are taken
  position,    ///< tables and frequencies of positions
  attention,   ///< projections of an attention: linear as well
  router,      ///< weights that choose experts
  head,        ///< the last product, which makes scores of words or classes
  norm,        ///< gains and statistics of a normalisation
  activation,  ///< what flows between layers
  other,
};

namespace detail {
inline constexpr std::array<std::string_view, 10> node_kind_names{
    "linear", "conv", "embedding", "position",   "attention",
    "router", "head", "norm",      "activation", "other"};
}  // namespace detail

/// The name of a kind, as in `NodeKind`.
[[nodiscard]] constexpr std::string_view to_string(NodeKind kind) noexcept {
  return detail::node_kind_names[static_cast<std::size_t>(kind)];
}

/// The names of all kinds.
[[nodiscard]] inline std::vector<std::string> node_kinds() {
  return {detail::node_kind_names.begin(), detail::node_kind_names.end()};
}

/// The kind of that name, or nothing.
[[nodiscard]] constexpr std::optional<NodeKind> find_node_kind(std::string_view name) noexcept {
  for (std::size_t i = 0; i < detail::node_kind_names.size(); ++i)
    if (detail::node_kind_names[i] == name) return static_cast<NodeKind>(i);
  return std::nullopt;
}

/// The kind of that name. Throws: `errc::unknown_name`, with the names there are.
[[nodiscard]] inline NodeKind node_kind(std::string_view name) {
  require_one_of("tq::node_kind", node_kinds(), name);
  return *find_node_kind(name);
}

/// The kinds that configurations leave in float unless they say otherwise: they have few of the
/// weights, and a small error of theirs changes what comes out.
inline constexpr std::array default_float_kinds{NodeKind::head, NodeKind::router,
                                                NodeKind::position};

/// Whether nodes of that kind are tables of which rows are taken, and no weights of products.
[[nodiscard]] constexpr bool is_table(NodeKind kind) noexcept {
  return kind == NodeKind::embedding || kind == NodeKind::position;
}

/// Whether what is said of `asked` goes for `kind` too: projections of attentions are linear.
[[nodiscard]] constexpr bool is_of_kind(NodeKind kind, NodeKind asked) noexcept {
  return kind == asked || (kind == NodeKind::attention && asked == NodeKind::linear);
}

namespace detail {

// The parts of a name between dots and slashes, in lower case, without a last "weight" or "bias".
[[nodiscard]] inline std::vector<std::string> name_parts(std::string_view name) {
  std::vector<std::string> parts(1);
  for (const char c : name) {
    if (c == '.' || c == '/') parts.emplace_back();
    else parts.back() += 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  if (parts.size() > 1 && (parts.back() == "weight" || parts.back() == "bias")) parts.pop_back();
  return parts;
}

template <std::size_t N>
[[nodiscard]] constexpr bool is_one_of(std::string_view text,
                                       const std::array<std::string_view, N>& list) noexcept {
  for (const std::string_view each : list)
    if (each == text) return true;
  return false;
}

// "norm", "layernorm", "ln_1", "bn2": not "layernorm_embedding".
[[nodiscard]] inline bool names_norm(const std::string& part) {
  if (part.ends_with("norm") || part.ends_with("layrnorm") || part.starts_with("running_"))
    return true;
  const std::string head = part.substr(0, part.find_last_not_of("0123456789_f") + 1);
  if (head == "ln" || head == "bn" || head == "norm" || head == "layer_norm" || head == "layernorm")
    return true;
  return part == "gamma" || part == "beta";
}

[[nodiscard]] inline bool names_embedding(const std::string& part) {
  constexpr std::array<std::string_view, 4> exact{"wte", "shared", "token_embd", "cls_token"};
  if (is_one_of(part, exact)) return true;
  if (part.starts_with("patch_embed") || part == "embed_out") return false;  // convolution, head
  return part.ends_with("embedding") || part.ends_with("embeddings") ||
         part.starts_with("embed_") || part.ends_with("_embed");
}

// "wpe", "position_embeddings", "pos_embed", "inv_freq".
[[nodiscard]] inline bool names_position(const std::string& part) {
  constexpr std::array<std::string_view, 12> exact{
      "wpe",       "position_embd", "embed_positions", "pos_emb",   "pos_embedding", "rel_pos_h",
      "rel_pos_w", "inv_freq",      "rope_freqs",      "freqs_cis", "cos_cached",    "sin_cached"};
  constexpr std::array<std::string_view, 6> ends{"pos_embed",
                                                 "position_embedding",
                                                 "position_embeddings",
                                                 "positional_embedding",
                                                 "relative_attention_bias",
                                                 "position_bias_table"};
  for (const std::string_view end : ends)
    if (part.ends_with(end)) return true;
  return is_one_of(part, exact);
}

// "router", "mlp.gate", "gate.wg": not "gate_proj".
[[nodiscard]] inline bool names_router(const std::vector<std::string>& parts) {
  const std::string& last = parts.back();
  if (last == "gate" || last == "shared_expert_gate" || last.starts_with("ffn_gate_inp"))
    return true;
  if (last == "wg" && parts.size() > 1 && parts[parts.size() - 2] == "gate") return true;
  for (const std::string& part : parts)
    if (part == "router") return true;
  return false;
}

// "lm_head", "classifier" and "output" of a whole model: not "layers.0.output" and not
// "classifier.0", of which nothing tells whether it is the last.
[[nodiscard]] inline bool names_head(const std::vector<std::string>& parts) {
  constexpr std::array<std::string_view, 4> wrappers{"model", "module", "_orig_mod", "transformer"};
  constexpr std::array<std::string_view, 9> whole{"output",
                                                  "classifier",
                                                  "classifier.out_proj",
                                                  "score",
                                                  "proj_out",
                                                  "text_projection",
                                                  "visual_projection",
                                                  "head.fc",
                                                  "cls.predictions.decoder"};
  constexpr std::array<std::string_view, 5> anywhere{"head", "output_layer", "embed_out",
                                                     "qa_outputs", "seq_relationship"};
  std::string name;
  for (const std::string& part : parts) {
    if (part == "lm_head") return true;
    if (name.empty() && parts.size() > 1 && is_one_of(part, wrappers)) continue;
    name.append(name.empty() ? "" : ".").append(part);
  }
  return is_one_of(name, whole) || is_one_of(parts.back(), anywhere);
}

[[nodiscard]] inline bool names_attention(const std::vector<std::string>& parts) {
  constexpr std::array<std::string_view, 24> exact{
      "q_proj", "k_proj",   "v_proj", "o_proj",      "qkv_proj",       "query",  "key",    "value",
      "qkv",    "c_attn",   "to_q",   "to_k",        "to_v",           "to_qkv", "attn_q", "attn_k",
      "attn_v", "attn_qkv", "wq",     "attn_output", "in_proj_weight", "wk",     "wv",     "wo"};
  const std::string& last = parts.back();
  bool inside = false;  // an attention, whose other projections have names that others have too
  for (const std::string& part : parts)
    inside = inside || part.find("attn") != std::string::npos ||
             part.find("attention") != std::string::npos;
  if (last == "wo" || last == "value" || last == "key" || last == "query") return inside;
  if (is_one_of(last, exact)) return true;
  constexpr std::array<std::string_view, 8> shared{"out_proj", "c_proj", "proj", "dense",
                                                   "q",        "k",      "v",    "o"};
  return inside && (is_one_of(last, shared) || last == "0");  // "to_out.0"
}

[[nodiscard]] inline bool names_conv(const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    if (part.find("conv") != std::string::npos || part.starts_with("patch_embed") ||
        part == "downsample" || part == "features")
      return true;
  return false;
}

}  // namespace detail

/// What a tensor of that name and rank probably is, by the names that transformers, torchvision,
/// timm, diffusers and GGUF give to weights; `other` for biases, masks and what is not known. The
/// last layer of a classifier is a head only where its name says so: `fc` and `classifier.6` are
/// linear. Rules of a configuration override a guess by naming the tensor.
[[nodiscard]] inline NodeKind guess_node_kind(std::string_view name, std::size_t rank) {
  const std::vector<std::string> parts = detail::name_parts(name);
  const std::string& last = parts.back();
  if (detail::names_norm(last)) return NodeKind::norm;
  if (detail::names_position(last)) return NodeKind::position;
  if (rank < 2) return NodeKind::other;
  if (detail::names_embedding(last)) return NodeKind::embedding;
  if (name.ends_with("bias")) return NodeKind::other;
  if (detail::names_router(parts)) return NodeKind::router;
  if (rank == 2 && detail::names_head(parts)) return NodeKind::head;
  const bool is_experts = name.find("experts") != std::string_view::npos ||
                          name.find("_exps") != std::string_view::npos;
  if (rank >= 4 || (rank == 3 && !is_experts && detail::names_conv(parts))) return NodeKind::conv;
  if (rank == 3 && !is_experts) return NodeKind::other;
  return detail::names_attention(parts) ? NodeKind::attention : NodeKind::linear;
}

}  // namespace tq

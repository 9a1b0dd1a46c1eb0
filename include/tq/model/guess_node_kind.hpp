// SPDX-License-Identifier: MIT
#pragma once
// guess_node_kind: the kind of a tensor by its name, its shape and the sizes of its model.

#include <tq/model/detail/elementwise_names.hpp>
#include <tq/model/detail/head_names.hpp>
#include <tq/model/detail/kind_names.hpp>
#include <tq/model/detail/name_parts.hpp>
#include <tq/model/model_sizes.hpp>
#include <tq/model/node_kind.hpp>

#include <cstddef>
#include <span>
#include <string_view>

namespace tq {

namespace detail {

// A tensor whose kind is asked for. Without extents, only the rank is known.
struct GuessedTensor {
  NameParts name;
  std::size_t rank;
  std::span<const std::size_t> extents;
  const ModelSizes& sizes;

  [[nodiscard]] bool has_shape() const noexcept { return !extents.empty(); }
};

// The shortest last axis of a stack of matrices; filters have fewer taps.
inline constexpr std::size_t fewest_stack_inputs = 16;

[[nodiscard]] inline bool is_router(const GuessedTensor& t) {
  const RouterName by_name = router_name(t.name);
  if (by_name != RouterName::gate || !t.has_shape()) return by_name != RouterName::none;
  if (t.sizes.experts.contains(t.extents[0]) || t.extents[0] == 1) return true;
  const bool is_in_mixture = t.name.any(
      [](const std::string& p) { return p.find("moe") != p.npos || p.find("mixture") != p.npos; });
  if (!is_in_mixture && !t.sizes.experts.empty()) return false;
  return t.extents[0] < t.extents[1];
}

// True for a matrix outside of layers, or inside a head, with as many rows or columns as there are
// words or classes.
[[nodiscard]] inline bool has_head_shape(const GuessedTensor& t) {
  if (t.extents.size() != 2 || t.name.is_in_attention()) return false;
  const bool is_in_head = t.name.any([](const std::string& p) { return is_head_component(p); });
  if (t.name.is_in_layer() && !is_in_head) return false;
  const std::size_t rows = t.extents[0], columns = t.extents[1];
  if (t.sizes.vocabularies.contains(rows) && rows > columns) return true;
  if (t.sizes.vocabularies.contains(columns) && columns > rows) return true;
  return t.sizes.labels.contains(rows) && rows != columns;
}

[[nodiscard]] inline bool is_head(const GuessedTensor& t) {
  if (t.rank == 2) return names_head(t.name) || has_head_shape(t);
  if (t.rank != 3 || (t.has_shape() && t.extents[2] < fewest_stack_inputs)) return false;
  return names_language_head(t.name) || t.name.last() == "head" || t.name.last().ends_with("_head");
}

[[nodiscard]] inline bool is_conv(const GuessedTensor& t) {
  if (t.name.is_of_experts()) return false;
  if (t.rank >= 4) return true;
  if (t.rank != 3) return false;
  if (names_conv(t.name)) return true;
  return t.has_shape() && t.name.is_weight() &&
         (t.extents[1] == 1 || t.extents[2] < fewest_stack_inputs);
}

// True for three axes and more that are a stack of matrices by name.
[[nodiscard]] inline bool is_stack(const GuessedTensor& t) {
  if (t.name.is_of_experts()) return true;
  const bool is_in_mixture =
      t.name.any([](const std::string& p) { return p.find("moe") != p.npos; });
  return t.has_shape() && t.extents.size() == 3 && (t.name.is_weight() || is_in_mixture) &&
         t.extents[2] >= fewest_stack_inputs;
}

[[nodiscard]] inline NodeKind guess(const GuessedTensor& t) {
  const bool is_flat = t.rank < 2;
  if (names_norm(t.name.last()) || (is_flat && has_word(t.name.last(), "norm")))
    return NodeKind::norm;
  if (names_position(t.name))
    return t.rank >= 4 && t.name.is_weight() ? NodeKind::conv : NodeKind::position;
  if (is_flat) return NodeKind::other;
  if (is_elementwise_shape(t.name, t.extents)) return NodeKind::elementwise;
  if (names_elementwise(t.name)) return NodeKind::elementwise;
  if (t.rank < 4 && names_embedding(t.name)) return NodeKind::embedding;
  if (t.rank < 4 && is_router(t)) return NodeKind::router;
  if (is_head(t)) return NodeKind::head;
  if (is_conv(t)) return NodeKind::conv;
  if (t.rank >= 3 && !is_stack(t)) return NodeKind::other;
  return names_attention(t.name) ? NodeKind::attention : NodeKind::linear;
}

}  // namespace detail

/// The probable kind of a tensor of that name and rank, by the names that transformers,
/// torchvision, timm, diffusers, RWKV, Mamba, fairseq and GGUF give to weights; `other` for
/// vectors, masks and names that tell nothing. The last layer of a classifier is a head only where
/// its name says so: `fc` and `classifier.6` are linear. Rules of a configuration override a guess.
[[nodiscard]] inline NodeKind guess_node_kind(std::string_view name, std::size_t rank) {
  const ModelSizes nothing;
  return detail::guess({detail::NameParts(name), rank, {}, nothing});
}

/// The same with the shape of the tensor and the sizes of its model, which tell a router from a
/// gate, a head from a hidden layer, and a gain of several axes from a weight.
[[nodiscard]] inline NodeKind guess_node_kind(std::string_view name,
                                              std::span<const std::size_t> extents,
                                              const ModelSizes& sizes = {}) {
  return detail::guess({detail::NameParts(name), extents.size(), extents, sizes});
}

}  // namespace tq

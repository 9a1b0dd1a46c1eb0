// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/model/guess_node_kind.hpp.

#include <tq/model/detail/elementwise_names.hpp>
#include <tq/model/detail/head_names.hpp>
#include <tq/model/detail/kind_names.hpp>
#include <tq/model/guess_node_kind.hpp>

namespace tq {

namespace detail {

// The shortest last axis of a stack of matrices; filters have fewer taps.
// The shortest last axis of a stack of matrices; filters have fewer taps.
inline constexpr std::size_t fewest_stack_inputs = 16;

TQ_API bool is_router(const GuessedTensor& t) {
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
TQ_API bool has_head_shape(const GuessedTensor& t) {
  if (t.extents.size() != 2 || t.name.is_in_attention()) return false;
  const bool is_in_head = t.name.any([](const std::string& p) { return is_head_component(p); });
  if (t.name.is_in_layer() && !is_in_head) return false;
  const std::size_t rows = t.extents[0], columns = t.extents[1];
  if (t.sizes.vocabularies.contains(rows) && rows > columns) return true;
  if (t.sizes.vocabularies.contains(columns) && columns > rows) return true;
  return t.sizes.labels.contains(rows) && rows != columns;
}

TQ_API bool is_head(const GuessedTensor& t) {
  if (t.rank == 2) return names_head(t.name) || has_head_shape(t);
  if (t.rank != 3 || (t.has_shape() && t.extents[2] < fewest_stack_inputs)) return false;
  return names_language_head(t.name) || t.name.last() == "head" || t.name.last().ends_with("_head");
}

TQ_API bool is_conv(const GuessedTensor& t) {
  if (t.name.is_of_experts()) return false;
  if (t.rank >= 4) return true;
  if (t.rank != 3) return false;
  if (names_conv(t.name)) return true;
  return t.has_shape() && t.name.is_weight() &&
         (t.extents[1] == 1 || t.extents[2] < fewest_stack_inputs);
}

TQ_API bool is_stack(const GuessedTensor& t) {
  if (t.name.is_of_experts()) return true;
  const bool is_in_mixture =
      t.name.any([](const std::string& p) { return p.find("moe") != p.npos; });
  return t.has_shape() && t.extents.size() == 3 && (t.name.is_weight() || is_in_mixture) &&
         t.extents[2] >= fewest_stack_inputs;
}

TQ_API NodeKind guess(const GuessedTensor& t) {
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

TQ_API NodeKind guess_node_kind(std::string_view name, std::size_t rank) {
  const ModelSizes nothing;
  return detail::guess({detail::NameParts(name), rank, {}, nothing});
}

TQ_API NodeKind guess_node_kind(std::string_view name, std::span<const std::size_t> extents,
                                const ModelSizes& sizes) {
  return detail::guess({detail::NameParts(name), extents.size(), extents, sizes});
}

}  // namespace tq

// SPDX-License-Identifier: MIT
#pragma once
// NodeKind: what a tensor is in its model. guess_node_kind.hpp guesses it from name and shape.

#include <tq/scheme/detail/known_names.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tq {

/// The role of a node in a model.
enum class NodeKind : std::uint8_t {
  linear,       ///< weights of a matrix product, or the product itself
  conv,         ///< filters
  embedding,    ///< tables of which rows are taken
  position,     ///< tables and frequencies of positions
  attention,    ///< projections of an attention: linear as well
  router,       ///< weights that choose experts
  head,         ///< the last product, which makes scores of words or classes
  norm,         ///< gains and statistics of a normalisation
  elementwise,  ///< values that are added, multiplied or raised one by one: gains, decays, tokens
  activation,   ///< values that flow between layers
  other,
};

namespace detail {
inline constexpr std::array<std::string_view, 11> node_kind_names{
    "linear", "conv", "embedding",   "position",   "attention", "router",
    "head",   "norm", "elementwise", "activation", "other"};
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
/// weights, and a small error of theirs changes the result.
inline constexpr std::array default_float_kinds{
    NodeKind::head, NodeKind::router, NodeKind::position, NodeKind::norm, NodeKind::elementwise};

/// Whether nodes of that kind are tables of which rows are taken, and no weights of products.
[[nodiscard]] constexpr bool is_table(NodeKind kind) noexcept {
  return kind == NodeKind::embedding || kind == NodeKind::position;
}

/// Whether what is said of `asked` goes for `kind` too: projections of attentions are linear.
[[nodiscard]] constexpr bool is_of_kind(NodeKind kind, NodeKind asked) noexcept {
  return kind == asked || (kind == NodeKind::attention && asked == NodeKind::linear);
}

}  // namespace tq

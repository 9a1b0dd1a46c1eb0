// SPDX-License-Identifier: MIT
#pragma once
// NodeSelector: which nodes of a model a rule is about.

#include <tq/bodies.hpp>
#include <tq/model/name_pattern.hpp>
#include <tq/model/node_kind.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace tq {

/// Which nodes are meant: the one of a name, those whose names match a pattern, or those of a kind.
class NodeSelector {
 public:
  [[nodiscard]] TQ_API static NodeSelector name(std::string name);
  /// Throws: as `NamePattern`.
  [[nodiscard]] TQ_API static NodeSelector pattern(std::string text);
  [[nodiscard]] static NodeSelector kind(NodeKind kind) { return NodeSelector(kind); }

  /// Throws: as `NamePattern::matches`.
  [[nodiscard]] TQ_API bool matches(const std::string& name, NodeKind kind) const;
  /// Steps of the regular expression that it has, or 0.
  [[nodiscard]] TQ_API std::size_t steps() const noexcept;
  [[nodiscard]] bool is_name() const noexcept { return std::holds_alternative<Name>(which_); }
  [[nodiscard]] bool is_kind() const noexcept { return std::holds_alternative<NodeKind>(which_); }
  /// The key of the selector in documents: "name", "pattern" or "kind".
  [[nodiscard]] TQ_API std::string_view key() const noexcept;
  /// The name, the pattern or the name of the kind.
  [[nodiscard]] TQ_API std::string text() const;
  friend bool operator==(const NodeSelector& a, const NodeSelector& b) {
    return a.key() == b.key() && a.text() == b.text();
  }

 private:
  struct Name {
    std::string text;
  };
  using Which = std::variant<Name, NamePattern, NodeKind>;
  explicit NodeSelector(Which which) : which_(std::move(which)) {}
  Which which_;
};

}  // namespace tq

#ifndef TQ_FILE_LIBRARY
#include <tq/model/node_selector.ipp>
#endif

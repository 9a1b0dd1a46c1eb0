// SPDX-License-Identifier: MIT
#pragma once
// NodeSelector: which nodes of a model a rule is about.

#include <tq/model/name_pattern.hpp>
#include <tq/model/node_kind.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace tq {

/// Which nodes are meant: the one of a name, those whose names match a pattern, or those of a kind.
class NodeSelector {
 public:
  [[nodiscard]] static NodeSelector name(std::string name) {
    return NodeSelector(Name{std::move(name)});
  }
  /// Throws: as `NamePattern`.
  [[nodiscard]] static NodeSelector pattern(std::string text) {
    return NodeSelector(NamePattern(std::move(text)));
  }
  [[nodiscard]] static NodeSelector kind(NodeKind kind) { return NodeSelector(kind); }

  /// Throws: as `NamePattern::matches`.
  [[nodiscard]] bool matches(const std::string& name, NodeKind kind) const {
    if (const auto* own = std::get_if<Name>(&which_)) return own->text == name;
    if (const auto* pattern = std::get_if<NamePattern>(&which_)) return pattern->matches(name);
    return is_of_kind(kind, std::get<NodeKind>(which_));
  }
  /// Steps of the regular expression that it has, or 0.
  [[nodiscard]] std::size_t steps() const noexcept {
    const auto* pattern = std::get_if<NamePattern>(&which_);
    return pattern != nullptr ? pattern->steps() : 0;
  }
  [[nodiscard]] bool is_name() const noexcept { return std::holds_alternative<Name>(which_); }
  [[nodiscard]] bool is_kind() const noexcept { return std::holds_alternative<NodeKind>(which_); }
  /// The key of the selector in documents: "name", "pattern" or "kind".
  [[nodiscard]] std::string_view key() const noexcept {
    constexpr std::array<std::string_view, 3> keys{"name", "pattern", "kind"};
    return keys[which_.index()];
  }
  /// The name, the pattern or the name of the kind.
  [[nodiscard]] std::string text() const {
    if (const auto* own = std::get_if<Name>(&which_)) return own->text;
    if (const auto* pattern = std::get_if<NamePattern>(&which_)) return pattern->text();
    return std::string(to_string(std::get<NodeKind>(which_)));
  }
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

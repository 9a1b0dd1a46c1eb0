// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/model/node_selector.hpp.

#include <tq/model/node_selector.hpp>

#include <array>

namespace tq {

TQ_API NodeSelector NodeSelector::name(std::string name) {
  return NodeSelector(Name{std::move(name)});
}

TQ_API NodeSelector NodeSelector::pattern(std::string text) {
  return NodeSelector(NamePattern(std::move(text)));
}

TQ_API bool NodeSelector::matches(const std::string& name, NodeKind kind) const {
  if (const auto* own = std::get_if<Name>(&which_)) return own->text == name;
  if (const auto* pattern = std::get_if<NamePattern>(&which_)) return pattern->matches(name);
  return is_of_kind(kind, std::get<NodeKind>(which_));
}

TQ_API std::size_t NodeSelector::steps() const noexcept {
  const auto* pattern = std::get_if<NamePattern>(&which_);
  return pattern != nullptr ? pattern->steps() : 0;
}

TQ_API std::string_view NodeSelector::key() const noexcept {
  constexpr std::array<std::string_view, 3> keys{"name", "pattern", "kind"};
  return keys[which_.index()];
}

TQ_API std::string NodeSelector::text() const {
  if (const auto* own = std::get_if<Name>(&which_)) return own->text;
  if (const auto* pattern = std::get_if<NamePattern>(&which_)) return pattern->text();
  return std::string(to_string(std::get<NodeKind>(which_)));
}

}  // namespace tq

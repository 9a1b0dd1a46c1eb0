// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/model/detail/expression_syntax.hpp.

#include <tq/error.hpp>
#include <tq/model/detail/expression_syntax.hpp>

#include <algorithm>
#include <utility>

namespace tq::detail {

TQ_API std::size_t ExpressionSyntax::add(SyntaxKind kind) {
  return append({.kind = kind, .steps = kind == SyntaxKind::nothing ? std::size_t{0} : 1});
}

TQ_API std::size_t ExpressionSyntax::add_bytes(const ByteSet& set) {
  const auto same = std::find(sets_.begin(), sets_.end(), set);
  const auto number = static_cast<std::size_t>(same - sets_.begin());
  if (same == sets_.end()) sets_.push_back(set);
  return append({.kind = SyntaxKind::bytes, .set = number, .steps = 1});
}

TQ_API std::size_t ExpressionSyntax::add_list(SyntaxKind kind, std::vector<std::size_t> parts) {
  if (parts.size() == 1) return parts.front();
  std::size_t steps = kind == SyntaxKind::choice ? parts.size() - 1 : 0;
  for (const std::size_t part : parts) steps += nodes_[part].steps;
  return append({.kind = kind, .parts = std::move(parts), .steps = steps});
}

TQ_API std::size_t ExpressionSyntax::add_repeat(std::size_t part, std::size_t least,
                                                std::size_t most) {
  const std::size_t once = nodes_[part].steps;
  // A part without steps matches the empty text however often it is repeated.
  if (once == 0) return part;
  const std::size_t more = most == no_limit ? once + 1 : (most - least) * (once + 1);
  return append({.kind = SyntaxKind::repeat,
                 .least = least,
                 .most = most,
                 .parts = {part},
                 .steps = least * once + more});
}

TQ_API std::size_t ExpressionSyntax::add_ahead(SyntaxKind kind, std::size_t part) {
  ahead_steps_ += nodes_[part].steps + 1;
  return append({.kind = kind, .parts = {part}, .steps = 1});
}

TQ_API void ExpressionSyntax::refuse(std::size_t byte, const std::string& expected,
                                     const std::string& got) const {
  raise_text(errc::bad_argument,
             {"expected a regular expression (\".*\" is any text), got ", in_quotes(text_),
              ": byte ", byte + 1, ": expected ", expected, ", got ", got});
}

TQ_API std::size_t ExpressionSyntax::append(SyntaxNode node) {
  for (const std::size_t part : node.parts)
    node.depth = std::max(node.depth, nodes_[part].depth + 1);
  if (node.steps + ahead_steps_ > most_steps)
    refuse_size("counts that make it at most " + std::to_string(most_steps) + " steps long",
                std::to_string(node.steps + ahead_steps_));
  if (node.depth > most_depth)
    refuse_size("repetitions and groups nested at most " + std::to_string(most_depth) + " deep",
                "deeper ones");
  nodes_.push_back(std::move(node));
  return nodes_.size() - 1;
}

TQ_API void ExpressionSyntax::refuse_size(const std::string& expected,
                                          const std::string& got) const {
  raise_text(errc::bad_argument, {"expected a smaller regular expression than ", in_quotes(text_),
                                  ": expected ", expected, ", got ", got});
}

}  // namespace tq::detail

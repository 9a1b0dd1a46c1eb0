// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/model/detail/expression_program.hpp.

#include <tq/model/detail/expression_parser.hpp>
#include <tq/model/detail/expression_program.hpp>

#include <utility>

namespace tq::detail {

TQ_API ExpressionProgram::ExpressionProgram(std::string_view text) {
  ExpressionSyntax syntax(text);
  const std::size_t all = ExpressionParser(text, syntax).parse();
  steps_.reserve(syntax.node(all).steps + syntax.ahead_steps() + 1);
  begin_ = append(syntax, all, add(StepKind::match));
  sets_ = syntax.sets();
}

TQ_API std::uint32_t ExpressionProgram::add(StepKind kind, std::size_t argument,
                                            std::uint32_t next) {
  steps_.push_back({kind, static_cast<std::uint32_t>(argument), next});
  return static_cast<std::uint32_t>(steps_.size() - 1);
}

TQ_API std::uint32_t ExpressionProgram::append(const ExpressionSyntax& syntax, std::size_t number,
                                               std::uint32_t next) {
  const SyntaxNode& node = syntax.node(number);
  switch (node.kind) {
    case SyntaxKind::nothing: return next;
    case SyntaxKind::bytes: return add(StepKind::byte, node.set, next);
    case SyntaxKind::begin: return add(StepKind::begin, 0, next);
    case SyntaxKind::end: return add(StepKind::end, 0, next);
    case SyntaxKind::word_edge: return add(StepKind::word_edge, 0, next);
    case SyntaxKind::no_word_edge: return add(StepKind::no_word_edge, 0, next);
    case SyntaxKind::ahead: return add(StepKind::ahead, ahead_of(syntax, node.parts[0]), next);
    case SyntaxKind::not_ahead:
      return add(StepKind::not_ahead, ahead_of(syntax, node.parts[0]), next);
    case SyntaxKind::repeat: return emit_repeat(syntax, node, next);
    case SyntaxKind::sequence: {  // the last part is met first
      for (const std::size_t part : node.parts) next = append(syntax, part, next);
      return next;
    }
    case SyntaxKind::choice: break;
  }
  std::uint32_t entry = append(syntax, node.parts[0], next);
  for (std::size_t i = 1; i < node.parts.size(); ++i)
    entry = add(StepKind::either, entry, append(syntax, node.parts[i], next));
  return entry;
}

TQ_API std::uint32_t ExpressionProgram::emit_repeat(const ExpressionSyntax& syntax,
                                                    const SyntaxNode& node, std::uint32_t next) {
  std::uint32_t entry = next;
  if (node.most == ExpressionSyntax::no_limit) {
    entry = add(StepKind::either, next);
    steps_[entry].next = append(syntax, node.parts[0], entry);
  } else {
    for (std::size_t i = node.least; i < node.most; ++i)
      entry = add(StepKind::either, next, append(syntax, node.parts[0], entry));
  }
  for (std::size_t i = 0; i < node.least; ++i) entry = append(syntax, node.parts[0], entry);
  return entry;
}

TQ_API std::size_t ExpressionProgram::ahead_of(const ExpressionSyntax& syntax, std::size_t part) {
  for (std::size_t i = 0; i < ahead_parts_.size(); ++i)
    if (ahead_parts_[i] == part) return i;
  const std::uint32_t entry = append(syntax, part, add(StepKind::match));
  ahead_parts_.push_back(part);
  ahead_.push_back(entry);
  return ahead_.size() - 1;
}

}  // namespace tq::detail

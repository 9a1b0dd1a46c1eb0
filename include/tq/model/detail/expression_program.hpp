// SPDX-License-Identifier: MIT
#pragma once
// ExpressionProgram: a regular expression as steps that read a text from its end to its begin.

#include <tq/model/detail/expression_bytes.hpp>
#include <tq/model/detail/expression_parser.hpp>
#include <tq/model/detail/expression_syntax.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace tq::detail {

/// The action of a step.
enum class StepKind : std::uint8_t {
  match,   ///< nothing is left to match
  byte,    ///< takes the byte before, of set number `argument`
  either,  ///< goes on at both `next` and `argument`
  begin,   ///< the others go on at `next` where an assertion holds
  end,
  word_edge,
  no_word_edge,
  ahead,  ///< `argument` is a number of `ExpressionProgram::ahead`
  not_ahead,
};

struct ExpressionStep {
  StepKind kind = StepKind::match;
  std::uint32_t argument = 0, next = 0;
};

/// The steps of an expression. They take a text from its last byte to its first one: what is looked
/// for ahead of a place is then known when the place is reached, and is found once for all places.
class ExpressionProgram {
 public:
  /// Throws: `errc::bad_argument` for a text that is no expression, or too large a one.
  explicit ExpressionProgram(std::string_view text) {
    ExpressionSyntax syntax(text);
    const std::size_t all = ExpressionParser(text, syntax).parse();
    steps_.reserve(syntax.node(all).steps + syntax.ahead_steps() + 1);
    begin_ = append(syntax, all, add(StepKind::match));
    sets_ = syntax.sets();
  }

  [[nodiscard]] const std::vector<ExpressionStep>& steps() const noexcept { return steps_; }
  [[nodiscard]] const std::vector<ByteSet>& sets() const noexcept { return sets_; }
  /// Where what is looked for ahead begins; what an entry needs comes before it.
  [[nodiscard]] const std::vector<std::uint32_t>& ahead() const noexcept { return ahead_; }
  [[nodiscard]] std::uint32_t begin() const noexcept { return begin_; }

 private:
  std::uint32_t add(StepKind kind, std::size_t argument = 0, std::uint32_t next = 0) {
    steps_.push_back({kind, static_cast<std::uint32_t>(argument), next});
    return static_cast<std::uint32_t>(steps_.size() - 1);
  }

  // Adds the steps of a node, after which `next` comes. Returns where they begin.
  std::uint32_t append(const ExpressionSyntax& syntax, std::size_t number, std::uint32_t next) {
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
  std::uint32_t emit_repeat(const ExpressionSyntax& syntax, const SyntaxNode& node,
                            std::uint32_t next) {
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

  // The number of what is looked for ahead; repetitions of it share one.
  std::size_t ahead_of(const ExpressionSyntax& syntax, std::size_t part) {
    for (std::size_t i = 0; i < ahead_parts_.size(); ++i)
      if (ahead_parts_[i] == part) return i;
    const std::uint32_t entry = append(syntax, part, add(StepKind::match));
    ahead_parts_.push_back(part);
    ahead_.push_back(entry);
    return ahead_.size() - 1;
  }

  std::vector<ExpressionStep> steps_;
  std::vector<ByteSet> sets_;
  std::vector<std::uint32_t> ahead_;
  std::vector<std::size_t> ahead_parts_;  // the nodes of `ahead_`
  std::uint32_t begin_ = 0;
};

}  // namespace tq::detail

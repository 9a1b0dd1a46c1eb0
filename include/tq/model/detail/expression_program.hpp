// SPDX-License-Identifier: MIT
#pragma once
// ExpressionProgram: a regular expression as steps that read a text from its end to its begin.

#include <tq/bodies.hpp>
#include <tq/model/detail/expression_bytes.hpp>
#include <tq/model/detail/expression_syntax.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
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
  TQ_API explicit ExpressionProgram(std::string_view text);

  [[nodiscard]] const std::vector<ExpressionStep>& steps() const noexcept { return steps_; }
  [[nodiscard]] const std::vector<ByteSet>& sets() const noexcept { return sets_; }
  /// Where what is looked for ahead begins; what an entry needs comes before it.
  [[nodiscard]] const std::vector<std::uint32_t>& ahead() const noexcept { return ahead_; }
  [[nodiscard]] std::uint32_t begin() const noexcept { return begin_; }

 private:
  TQ_API std::uint32_t add(StepKind kind, std::size_t argument = 0, std::uint32_t next = 0);

  // Adds the steps of a node, after which `next` comes. Returns where they begin.
  TQ_API std::uint32_t append(const ExpressionSyntax& syntax, std::size_t number,
                              std::uint32_t next);
  TQ_API std::uint32_t emit_repeat(const ExpressionSyntax& syntax, const SyntaxNode& node,
                                   std::uint32_t next);

  // The number of what is looked for ahead; repetitions of it share one.
  TQ_API std::size_t ahead_of(const ExpressionSyntax& syntax, std::size_t part);

  std::vector<ExpressionStep> steps_;
  std::vector<ByteSet> sets_;
  std::vector<std::uint32_t> ahead_;
  std::vector<std::size_t> ahead_parts_;  // the nodes of `ahead_`
  std::uint32_t begin_ = 0;
};

}  // namespace tq::detail

#ifndef TQ_FILE_LIBRARY
#include <tq/model/detail/expression_program.ipp>
#endif

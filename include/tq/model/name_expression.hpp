// SPDX-License-Identifier: MIT
#pragma once
// NameExpression: which names are meant, by a regular expression.

#include <tq/bodies.hpp>
#include <tq/model/detail/expression_program.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace tq {

/// A regular expression of ECMAScript without back references: groups, choices, `*`, `+`, `?` and
/// counts, `^`, `$`, `\b`, `\B`, `(?=...)`, `(?!...)`, brackets with ranges and classes such as
/// `[:alpha:]`, `\d`, `\s` and `\w` of ASCII, and escapes. A character is a byte.
///
/// A match takes time and memory that are at most proportional to the length of the name: a name is
/// read once for the expression and once for everything that is looked for ahead. An expression has
/// at most `most_steps` steps, one for each character of it, times the counts that repeat it.
class NameExpression {
 public:
  /// Bytes of an expression, and of a name that is matched.
  static constexpr std::size_t most_bytes = 1000;
  /// Steps of an expression, and its largest count.
  static constexpr std::size_t most_steps = detail::ExpressionSyntax::most_steps,
                               most_count = detail::ExpressionSyntax::most_count;

  /// Throws: `errc::bad_argument` for what is no such expression, or too large a one.
  explicit NameExpression(std::string text)
      : text_(std::move(text)), program_(require_short(text_)) {}

  /// Whether a part of the name matches. Throws: `errc::unsupported` for a name that is too long.
  [[nodiscard]] TQ_API bool is_in(std::string_view name) const;
  /// Whether the whole name matches. Throws: as above.
  [[nodiscard]] TQ_API bool matches(std::string_view name) const;
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  /// Steps of the expression, which take 12 bytes each.
  [[nodiscard]] std::size_t steps() const noexcept { return program_.steps().size(); }

 private:
  [[nodiscard]] TQ_API static const std::string& require_short(const std::string& text);
  TQ_API static void require_short_name(std::string_view name);

  std::string text_;
  detail::ExpressionProgram program_;
};

}  // namespace tq

#ifndef TQ_FILE_LIBRARY
#include <tq/model/name_expression.ipp>
#endif

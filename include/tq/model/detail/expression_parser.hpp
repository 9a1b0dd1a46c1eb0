// SPDX-License-Identifier: MIT
#pragma once
// ExpressionParser: from the text of a regular expression of ECMAScript to its tree.

#include <tq/bodies.hpp>
#include <tq/model/detail/expression_bytes.hpp>
#include <tq/model/detail/expression_syntax.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tq::detail {

/// Reads an expression from left to right, as `std::regex` of ECMAScript does, but for back
/// references. A character is a byte.
class ExpressionParser {
 public:
  ExpressionParser(std::string_view text, ExpressionSyntax& syntax)
      : text_(text), syntax_(syntax) {}

  /// The number of the node that is the whole expression.
  /// Throws: `errc::bad_argument` with the byte that is at fault.
  [[nodiscard]] TQ_API std::size_t parse();

 private:
  static constexpr std::size_t most_groups = 100;  // in one another

  [[nodiscard]] bool at_end() const noexcept { return at_ == text_.size(); }
  [[nodiscard]] TQ_API bool sees(std::string_view word) const;
  // Goes behind the word if it is what comes next.
  TQ_API bool take(std::string_view word);
  [[nodiscard]] TQ_API char next(const char* expected);
  [[nodiscard]] TQ_API std::string shown(std::size_t byte) const;
  [[noreturn]] TQ_API void refuse(std::size_t byte, const std::string& expected,
                                  const std::string& got) const;

  [[nodiscard]] TQ_API std::size_t choice();
  [[nodiscard]] TQ_API std::size_t sequence();

  // Assertions are not repeated; an atom may be, and what was repeated again.
  [[nodiscard]] TQ_API std::size_t term();

  // Parses the inside of open parentheses, which begin at byte `begin`.
  [[nodiscard]] TQ_API std::size_t group(std::size_t begin);

  [[nodiscard]] TQ_API std::size_t atom();

  // How often what stands before is repeated.
  [[nodiscard]] TQ_API std::optional<std::pair<std::size_t, std::size_t>> quantifier();
  [[nodiscard]] TQ_API std::size_t count();

  // The class of "\d" and its like; "\" was taken.
  [[nodiscard]] TQ_API std::optional<ByteSet> escaped_class();
  // The byte that an escape stands for; `begin` is where its "\" was.
  [[nodiscard]] TQ_API char escaped(std::size_t begin);
  [[nodiscard]] TQ_API char control();
  [[nodiscard]] TQ_API char hexadecimal(int digits);

  // --- "[...]", whose "[" was at `begin` ---

  [[nodiscard]] TQ_API ByteSet bracket(std::size_t begin);
  // One character of a bracket, by itself or escaped.
  [[nodiscard]] TQ_API char bracket_byte();
  [[nodiscard]] TQ_API char range_end(std::size_t begin);
  [[nodiscard]] TQ_API ByteSet range(std::size_t at, char first, char last) const;
  // The class that comes next: "[:alpha:]", "\d".
  [[nodiscard]] TQ_API std::optional<ByteSet> class_in_bracket();
  // The character of "[.a.]" and "[=a=]".
  [[nodiscard]] TQ_API char named_byte();
  [[nodiscard]] TQ_API std::string_view name_until(std::string_view end);

  std::string_view text_;
  ExpressionSyntax& syntax_;
  std::size_t at_ = 0, groups_ = 0;
};

}  // namespace tq::detail

#ifndef TQ_FILE_LIBRARY
#include <tq/model/detail/expression_parser.ipp>
#endif

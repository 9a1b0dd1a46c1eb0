// SPDX-License-Identifier: MIT
#pragma once
// ExpressionSyntax: a regular expression as a tree, and how large its program will be.

#include <tq/bodies.hpp>
#include <tq/model/detail/expression_bytes.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tq::detail {

/// The kind of a part of an expression.
enum class SyntaxKind : std::uint8_t {
  nothing,       ///< the empty text
  bytes,         ///< one byte of a set
  sequence,      ///< its parts, one after the other
  choice,        ///< one of its parts
  repeat,        ///< its part, `least` to `most` times
  begin,         ///< the begin of the text
  end,           ///< the end of the text
  word_edge,     ///< a word begins or ends here
  no_word_edge,  ///< no word begins or ends here
  ahead,         ///< its part matches what follows
  not_ahead,     ///< its part does not match what follows
};

/// A part of an expression; parts of it are numbers of nodes that were made before it.
struct SyntaxNode {
  SyntaxKind kind = SyntaxKind::nothing;
  std::size_t set = 0;              ///< of bytes
  std::size_t least = 0, most = 0;  ///< of repeat
  std::vector<std::size_t> parts{};
  std::size_t steps = 0;  ///< of its program
  std::size_t depth = 0;  ///< of the nodes in it
};

/// The tree of an expression, which grows from the leaves on. No tree has a program of more than
/// `most_steps`: time and memory of a match are at most a multiple of these and of the text.
class ExpressionSyntax {
 public:
  static constexpr std::size_t most_steps = 10000, most_count = 1000, most_depth = 400;
  static constexpr std::size_t no_limit = ~std::size_t{0};

  explicit ExpressionSyntax(std::string_view text) : text_(text) {}

  [[nodiscard]] const SyntaxNode& node(std::size_t number) const { return nodes_[number]; }
  [[nodiscard]] const std::vector<ByteSet>& sets() const noexcept { return sets_; }
  /// Steps of the programs of what is looked for ahead, which repetitions share.
  [[nodiscard]] std::size_t ahead_steps() const noexcept { return ahead_steps_; }

  [[nodiscard]] TQ_API std::size_t add(SyntaxKind kind);
  [[nodiscard]] TQ_API std::size_t add_bytes(const ByteSet& set);
  /// A sequence or a choice; of a single part that part.
  [[nodiscard]] TQ_API std::size_t add_list(SyntaxKind kind, std::vector<std::size_t> parts);
  [[nodiscard]] TQ_API std::size_t add_repeat(std::size_t part, std::size_t least,
                                              std::size_t most);
  [[nodiscard]] TQ_API std::size_t add_ahead(SyntaxKind kind, std::size_t part);

  /// Raises `errc::bad_argument` for what is at a byte of the text.
  [[noreturn]] TQ_API void refuse(std::size_t byte, const std::string& expected,
                                  const std::string& got) const;

 private:
  TQ_API std::size_t append(SyntaxNode node);
  [[noreturn]] TQ_API void refuse_size(const std::string& expected, const std::string& got) const;

  std::string_view text_;
  std::vector<SyntaxNode> nodes_;
  std::vector<ByteSet> sets_;
  std::size_t ahead_steps_ = 0;
};

}  // namespace tq::detail

#ifndef TQ_FILE_LIBRARY
#include <tq/model/detail/expression_syntax.ipp>
#endif

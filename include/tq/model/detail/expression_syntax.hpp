// SPDX-License-Identifier: MIT
#pragma once
// ExpressionSyntax: a regular expression as a tree, and how large its program will be.

#include <tq/error.hpp>
#include <tq/model/detail/expression_bytes.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
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

  [[nodiscard]] std::size_t add(SyntaxKind kind) {
    return append({.kind = kind, .steps = kind == SyntaxKind::nothing ? std::size_t{0} : 1});
  }
  [[nodiscard]] std::size_t add_bytes(const ByteSet& set) {
    const auto same = std::find(sets_.begin(), sets_.end(), set);
    const auto number = static_cast<std::size_t>(same - sets_.begin());
    if (same == sets_.end()) sets_.push_back(set);
    return append({.kind = SyntaxKind::bytes, .set = number, .steps = 1});
  }
  /// A sequence or a choice; of a single part that part.
  [[nodiscard]] std::size_t add_list(SyntaxKind kind, std::vector<std::size_t> parts) {
    if (parts.size() == 1) return parts.front();
    std::size_t steps = kind == SyntaxKind::choice ? parts.size() - 1 : 0;
    for (const std::size_t part : parts) steps += nodes_[part].steps;
    return append({.kind = kind, .parts = std::move(parts), .steps = steps});
  }
  [[nodiscard]] std::size_t add_repeat(std::size_t part, std::size_t least, std::size_t most) {
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
  [[nodiscard]] std::size_t add_ahead(SyntaxKind kind, std::size_t part) {
    ahead_steps_ += nodes_[part].steps + 1;
    return append({.kind = kind, .parts = {part}, .steps = 1});
  }

  /// Raises `errc::bad_argument` for what is at a byte of the text.
  [[noreturn]] void refuse(std::size_t byte, const std::string& expected,
                           const std::string& got) const {
    raise_text(errc::bad_argument,
               {"expected a regular expression (\".*\" is any text), got ", in_quotes(text_),
                ": byte ", byte + 1, ": expected ", expected, ", got ", got});
  }

 private:
  std::size_t append(SyntaxNode node) {
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
  [[noreturn]] void refuse_size(const std::string& expected, const std::string& got) const {
    raise_text(errc::bad_argument, {"expected a smaller regular expression than ", in_quotes(text_),
                                    ": expected ", expected, ", got ", got});
  }

  std::string_view text_;
  std::vector<SyntaxNode> nodes_;
  std::vector<ByteSet> sets_;
  std::size_t ahead_steps_ = 0;
};

}  // namespace tq::detail

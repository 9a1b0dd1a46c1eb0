// SPDX-License-Identifier: MIT
#pragma once
// NamePattern: which names are meant, by a glob or a regular expression.

#include <tq/bodies.hpp>
#include <tq/model/name_expression.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tq {

namespace detail {
// Whether a glob is the whole text: "*" is any characters, "?" is one. Goes back to the last star
// only, so time is at most the product of the lengths.
[[nodiscard]] constexpr bool glob_matches(std::string_view glob, std::string_view text) noexcept {
  std::size_t g = 0, t = 0, after_star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (g < glob.size() && glob[g] == '*') {
      after_star = ++g;
      resume = t;
    } else if (g < glob.size() && (glob[g] == '?' || glob[g] == text[t])) {
      ++g;
      ++t;
    } else if (after_star != std::string_view::npos) {
      g = after_star;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}
}  // namespace detail

/// Names that a pattern matches as a whole: a glob, in which `*` stands for any characters, dots
/// included, and `?` for one; or, after "re:", a `NameExpression`.
class NamePattern {
 public:
  /// Bytes of a pattern.
  static constexpr std::size_t most_bytes = NameExpression::most_bytes;

  /// Throws: as `NameExpression`; `errc::bad_argument` for a pattern that is empty or too long.
  TQ_API explicit NamePattern(std::string text);
  /// Throws: as `NameExpression`.
  [[nodiscard]] TQ_API bool matches(const std::string& name) const;
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  /// Steps of a regular expression; 0 of a glob.
  [[nodiscard]] TQ_API std::size_t steps() const noexcept;

 private:
  std::string text_;
  std::optional<NameExpression> expression_;
};

}  // namespace tq

#ifndef TQ_FILE_LIBRARY
#include <tq/model/name_pattern.ipp>
#endif

// SPDX-License-Identifier: MIT
#pragma once
// NamePattern: which names are meant, by a glob or a regular expression.

#include <tq/error.hpp>
#include <tq/model/name_expression.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

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
  explicit NamePattern(std::string text) : text_(std::move(text)) {
    constexpr std::string_view mark = "re:";
    if (text_.empty() || text_ == mark)
      raise(errc::bad_argument, "expected a pattern (\"*\" matches every name), got none");
    const bool is_expression = text_.starts_with(mark);
    if (!is_expression && text_.size() > most_bytes)
      detail::raise_expected(errc::bad_argument, "",
                             {"a pattern of at most ", most_bytes, " bytes"}, {text_.size()});
    if (is_expression) expression_.emplace(text_.substr(mark.size()));
  }
  /// Throws: as `NameExpression`.
  [[nodiscard]] bool matches(const std::string& name) const {
    return expression_ ? expression_->matches(name) : detail::glob_matches(text_, name);
  }
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  /// Steps of a regular expression; 0 of a glob.
  [[nodiscard]] std::size_t steps() const noexcept {
    return expression_ ? expression_->steps() : 0;
  }

 private:
  std::string text_;
  std::optional<NameExpression> expression_;
};

}  // namespace tq

// SPDX-License-Identifier: MIT
#pragma once
// NameExpression and NamePattern: which names are meant, by a regular expression or a glob.

#include <tq/config.hpp>
#include <tq/error.hpp>

#include <cstddef>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <utility>

namespace tq {

/// A regular expression of ECMAScript without back references, matched in time and memory that no
/// expression and no name can blow up.
class NameExpression {
 public:
  /// Bytes of an expression, and of a name that is matched.
  static constexpr std::size_t most_bytes = 1000;

  /// Throws: `errc::bad_argument` for what is no such expression.
  explicit NameExpression(std::string text) : text_(std::move(text)) {
    if (text_.size() > most_bytes)
      refuse("a regular expression of at most " + std::to_string(most_bytes) + " bytes",
             std::to_string(text_.size()));
#if TQ_HAS_EXCEPTIONS
    try {
      expression_.assign(text_, grammar);
    } catch (const std::regex_error& e) {
      const bool is_too_much = e.code() == std::regex_constants::error_complexity ||
                               e.code() == std::regex_constants::error_space;
      refuse(is_too_much ? "a smaller regular expression, without back references"
                         : "a regular expression (\".*\" is any text)",
             "\"" + text_ + "\"");
    }
#else
    expression_.assign(text_, grammar);
#endif
  }

  /// Whether a part of the name matches. Throws: `errc::unsupported` for a name that is too long.
  [[nodiscard]] bool is_in(const std::string& name) const {
    require_short(name);
    return std::regex_search(name, expression_);
  }
  /// Whether the whole name matches. Throws: as above.
  [[nodiscard]] bool matches(const std::string& name) const {
    require_short(name);
    return std::regex_match(name, expression_);
  }
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  // The matcher of libstdc++ that goes back takes a level of the stack for every character, and
  // time that is exponential in the worst case; its other one does not, and has no back references.
#if defined(__GLIBCXX__)
  static constexpr auto grammar = std::regex::ECMAScript | std::regex_constants::__polynomial;
#else
  static constexpr auto grammar = std::regex::ECMAScript;
#endif

  [[noreturn]] static void refuse(const std::string& expected, const std::string& got) {
    raise(errc::bad_argument, "expected " + expected + ", got " + got);
  }
  static void require_short(const std::string& name) {
    if (name.size() > most_bytes)
      raise(errc::unsupported, "expected a name of at most " + std::to_string(most_bytes) +
                                   " bytes beside a regular expression, got " +
                                   std::to_string(name.size()));
  }

  std::string text_;
  std::regex expression_;
};

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
  /// Throws: as `NameExpression`; `errc::bad_argument` for an empty pattern.
  explicit NamePattern(std::string text) : text_(std::move(text)) {
    constexpr std::string_view mark = "re:";
    if (text_.empty() || text_ == mark)
      raise(errc::bad_argument, "expected a pattern (\"*\" matches every name), got none");
    if (text_.starts_with(mark)) expression_.emplace(text_.substr(mark.size()));
  }
  /// Throws: as `NameExpression`.
  [[nodiscard]] bool matches(const std::string& name) const {
    return expression_ ? expression_->matches(name) : detail::glob_matches(text_, name);
  }
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
  std::optional<NameExpression> expression_;
};

}  // namespace tq

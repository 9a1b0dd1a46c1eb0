// SPDX-License-Identifier: MIT
#pragma once
// NameFilter: selects tensors by regular expressions over their names.

#include <tq/error.hpp>
#include <tq/files/failure.hpp>
#include <tq/model/name_pattern.hpp>
#include <tq/model/node_kind.hpp>
#include <tq/scheme/closest_name.hpp>
#include <tq/store/name_patterns.hpp>
#include <tq/store/option_error.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tq::store {

namespace detail {

// The name that a pattern spells out: without its anchors, and dots without their escapes.
inline std::string spelled_name(std::string pattern) {
  if (pattern.starts_with('^')) pattern.erase(0, 1);
  if (pattern.ends_with('$')) pattern.pop_back();
  for (const std::string_view dot : {"\\.", "[.]"})
    for (std::size_t at; (at = pattern.find(dot)) != pattern.npos;)
      pattern.replace(at, dot.size(), ".");
  return pattern;
}

}  // namespace detail

/// `NamePatterns`, compiled. Matching takes time and memory that no pattern and no name can blow
/// up.
class NameFilter {
 public:
  /// Throws: `OptionError` for a text that is no regular expression.
  explicit NameFilter(const NamePatterns& patterns);
  NameFilter(const NameFilter&) = delete;
  NameFilter& operator=(const NameFilter&) = delete;
  ~NameFilter();

  /// The reason why a tensor is left out, or empty. Throws: `errc::unsupported` for a name that is
  /// too long to match.
  [[nodiscard]] const std::string& left_out(const std::string& name);
  /// True if one of `include` is the exact name of a tensor, or of its module: the tensor is then
  /// quantized even if it is of a kind that stays in float.
  [[nodiscard]] bool asks_for(const std::string& name) const;
  /// Takes a name into account that is not that of a tensor but may be excluded.
  void note(const std::string& name);
  /// Throws: `errc::bad_argument` for a pattern that matched none of the names so far.
  void require_matches() const;

 private:
  struct Pattern;
  [[nodiscard]] std::string judged(const std::string& name);

  std::vector<Pattern> include_, exclude_;
  std::vector<std::string> names_;                     // the patterns of `include` that are names
  std::unordered_map<std::string, std::string> seen_;  // what `left_out` said
};

/// A pattern, and whether a name matched it.
struct NameFilter::Pattern {
  NameExpression expression;
  bool has_match = false;
};

inline NameFilter::NameFilter(const NamePatterns& patterns) {
  const auto add = [](std::vector<Pattern>& to, const std::string& text, const char* option) {
    if (text.empty())
      raise_option(std::string(option) +
                   ": expected a regular expression (\".*\" is any text), got an empty one");
    try {
      to.push_back({NameExpression(text)});
    } catch (const error& e) {
      raise_option(std::string(option) + ": " + e.what());
    }
  };
  for (const std::string& p : patterns.include) {
    add(include_, p, "`include`");
    names_.push_back(detail::spelled_name(p));
  }
  for (const std::string& p : patterns.exclude) add(exclude_, p, "`exclude`");
}

inline NameFilter::~NameFilter() = default;

inline const std::string& NameFilter::left_out(const std::string& name) {
  static const std::string kept;
  if (include_.empty() && exclude_.empty()) return kept;
  const auto found = seen_.find(name);
  return found != seen_.end() ? found->second : seen_.emplace(name, judged(name)).first->second;
}

inline std::string NameFilter::judged(const std::string& name) {
  if (name.size() > NameExpression::most_bytes)
    tq::detail::raise_text(
        errc::unsupported,
        {"tensor ", io::shown(name), ": expected a name of at most ", NameExpression::most_bytes,
         " bytes beside `include` and `exclude`, got ", name.size()});
  const auto match = [&](std::vector<Pattern>& patterns) {
    bool is_matched = false;
    for (Pattern& p : patterns)
      if (p.expression.is_in(name)) is_matched = p.has_match = true;
    return is_matched;
  };
  const bool is_included = match(include_) || include_.empty();
  if (match(exclude_)) return "excluded";
  return is_included ? "" : "not included";
}

inline bool NameFilter::asks_for(const std::string& name) const {
  return std::any_of(names_.begin(), names_.end(), [&](const std::string& asked) {
    return name == asked || name == asked + ".weight";
  });
}

inline void NameFilter::note(const std::string& name) {
  if (name.size() <= NameExpression::most_bytes) static_cast<void>(left_out(name));
}

inline void NameFilter::require_matches() const {
  std::vector<std::string> names;
  for (const auto& [name, reason] : seen_) names.push_back(name);
  const auto require = [&](const std::vector<Pattern>& patterns, const char* option) {
    for (const Pattern& p : patterns)
      if (!p.has_match)
        tq::detail::raise_text(
            errc::bad_argument,
            {option, " ", tq::detail::in_quotes(p.expression.text()), " matches none of the ",
             names.size(), " tensors", did_you_mean(p.expression.text(), names)});
  };
  require(include_, "`include`");
  require(exclude_, "`exclude`");
}

}  // namespace tq::store

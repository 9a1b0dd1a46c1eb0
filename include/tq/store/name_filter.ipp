// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/store/name_filter.hpp.

#include <tq/error.hpp>
#include <tq/files/failure.hpp>
#include <tq/model/name_pattern.hpp>
#include <tq/model/node_kind.hpp>
#include <tq/scheme/closest_name.hpp>
#include <tq/store/name_filter.hpp>
#include <tq/store/option_error.hpp>

#include <algorithm>
#include <string_view>

namespace tq::store {

namespace detail {

// The name that a pattern spells out: without its anchors, and dots without their escapes.
TQ_API std::string spelled_name(std::string pattern) {
  if (pattern.starts_with('^')) pattern.erase(0, 1);
  if (pattern.ends_with('$')) pattern.pop_back();
  for (const std::string_view dot : {"\\.", "[.]"})
    for (std::size_t at; (at = pattern.find(dot)) != pattern.npos;)
      pattern.replace(at, dot.size(), ".");
  return pattern;
}

}  // namespace detail

TQ_API NameFilter::NameFilter(const NamePatterns& patterns) {
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

TQ_API const std::string& NameFilter::left_out(const std::string& name) {
  static const std::string kept;
  if (include_.empty() && exclude_.empty()) return kept;
  const auto found = seen_.find(name);
  return found != seen_.end() ? found->second : seen_.emplace(name, judged(name)).first->second;
}

TQ_API std::string NameFilter::judged(const std::string& name) {
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

TQ_API bool NameFilter::asks_for(const std::string& name) const {
  return std::any_of(names_.begin(), names_.end(), [&](const std::string& asked) {
    return name == asked || name == asked + ".weight";
  });
}

TQ_API void NameFilter::note(const std::string& name) {
  if (name.size() <= NameExpression::most_bytes) static_cast<void>(left_out(name));
}

TQ_API void NameFilter::require_matches() const {
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

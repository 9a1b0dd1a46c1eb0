// SPDX-License-Identifier: MIT
#include "name_filter.hpp"

#include "commands.hpp"

#include <tq/error.hpp>
#include <tq/files/failure.hpp>
#include <tq/model/name_pattern.hpp>
#include <tq/scheme/closest_name.hpp>

#include <algorithm>
#include <string_view>

namespace tool {

namespace {

using tq::errc;
using tq::io::shown;

// The name that a pattern spells out: without its anchors, and dots without their escapes.
std::string spelled_name(std::string pattern) {
  if (pattern.starts_with('^')) pattern.erase(0, 1);
  if (pattern.ends_with('$')) pattern.pop_back();
  for (const std::string_view dot : {"\\.", "[.]"})
    for (std::size_t at; (at = pattern.find(dot)) != pattern.npos;)
      pattern.replace(at, dot.size(), ".");
  return pattern;
}

}  // namespace

struct NameFilter::Pattern {
  tq::NameExpression expression;
  bool has_match = false;
};

NameFilter::NameFilter(const NamePatterns& patterns) {
  const auto add = [](std::vector<Pattern>& to, const std::string& text, const char* option) {
    if (text.empty())
      throw UsageError(std::string(option) +
                       ": expected a regular expression (\".*\" is any text), got an empty one");
    try {
      to.push_back({tq::NameExpression(text)});
    } catch (const tq::error& e) {
      throw UsageError(std::string(option) + ": " + e.what());
    }
  };
  for (const std::string& p : patterns.include) {
    add(include_, p, "--include");
    names_.push_back(spelled_name(p));
  }
  for (const std::string& p : patterns.exclude) add(exclude_, p, "--exclude");
}

NameFilter::~NameFilter() = default;

const std::string& NameFilter::left_out(const std::string& name) {
  static const std::string kept;
  if (include_.empty() && exclude_.empty()) return kept;
  const auto found = seen_.find(name);
  return found != seen_.end() ? found->second : seen_.emplace(name, judged(name)).first->second;
}

std::string NameFilter::judged(const std::string& name) {
  if (name.size() > tq::NameExpression::most_bytes)
    throw tq::error(errc::unsupported, "tensor " + shown(name) + ": expected a name of at most " +
                                           std::to_string(tq::NameExpression::most_bytes) +
                                           " bytes beside --include and --exclude, got " +
                                           std::to_string(name.size()));
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

bool NameFilter::asks_for(const std::string& name) const {
  return std::any_of(names_.begin(), names_.end(), [&](const std::string& asked) {
    return name == asked || name == asked + ".weight";
  });
}

void NameFilter::note(const std::string& name) {
  if (name.size() <= tq::NameExpression::most_bytes) static_cast<void>(left_out(name));
}

void NameFilter::require_matches() const {
  std::vector<std::string> names;
  for (const auto& [name, reason] : seen_) names.push_back(name);
  const auto require = [&](const std::vector<Pattern>& patterns, const char* option) {
    for (const Pattern& p : patterns)
      if (!p.has_match)
        throw tq::error(errc::bad_argument, std::string(option) + " \"" + p.expression.text() +
                                                "\" matches none of the " +
                                                std::to_string(names.size()) + " tensors" +
                                                tq::did_you_mean(p.expression.text(), names));
  };
  require(include_, "--include");
  require(exclude_, "--exclude");
}

bool asks_for(const std::vector<std::string>& kinds, tq::NodeKind kind) {
  return std::any_of(kinds.begin(), kinds.end(),
                     [&](const std::string& name) { return name == to_string(kind); });
}

}  // namespace tool

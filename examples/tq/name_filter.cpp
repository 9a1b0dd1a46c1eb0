// SPDX-License-Identifier: MIT
#include "name_filter.hpp"

#include "commands.hpp"

#include <tq/error.hpp>
#include <tq/files/failure.hpp>
#include <tq/model/name_pattern.hpp>

#include <algorithm>

namespace tool {

namespace {

using tq::errc;
using tq::io::detail::shown;

}  // namespace

struct NameFilter::Pattern {
  tq::NameExpression expression;
  bool has_match = false;
};

NameFilter::NameFilter(const NamePatterns& patterns) {
  const auto add = [](std::vector<Pattern>& to, const std::string& text, const char* option) {
    try {
      to.push_back({tq::NameExpression(text)});
    } catch (const tq::error& e) {
      throw UsageError(std::string(option) + ": " + e.what());
    }
  };
  for (const std::string& p : patterns.include) add(include_, p, "--include");
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
  bool is_included = include_.empty();
  for (Pattern& p : include_)
    if (p.expression.is_in(name)) is_included = p.has_match = true;
  const auto matches = [&](const Pattern& p) { return p.expression.is_in(name); };
  if (std::any_of(exclude_.begin(), exclude_.end(), matches)) return "excluded";
  return is_included ? "" : "not included";
}

void NameFilter::require_matches() const {
  for (const Pattern& p : include_)
    if (!p.has_match)
      throw tq::error(errc::bad_argument, "--include \"" + p.expression.text() +
                                              "\" matches none of the " +
                                              std::to_string(seen_.size()) + " tensors");
}

}  // namespace tool

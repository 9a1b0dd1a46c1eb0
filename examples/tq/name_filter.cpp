// SPDX-License-Identifier: MIT
#include "name_filter.hpp"

#include "commands.hpp"

#include <tq/error.hpp>
#include <tq/io/failure.hpp>

#include <algorithm>
#include <regex>

namespace tool {

namespace {

using tq::errc;
using tq::io::detail::shown;

constexpr std::size_t most_bytes = 1000;  // of a pattern and of a name

// The matcher of libstdc++ that goes back takes a level of the stack for every character, and time
// that is exponential in the worst case; its other one does not, and has no back references.
#if defined(__GLIBCXX__)
constexpr auto grammar = std::regex::ECMAScript | std::regex_constants::__polynomial;
#else
constexpr auto grammar = std::regex::ECMAScript;
#endif

}  // namespace

struct NameFilter::Pattern {
  std::string text;
  std::regex expression;
  bool has_match = false;

  Pattern(const std::string& pattern, const std::string& option) : text(pattern) {
    const auto refuse = [&](const std::string& expected, const std::string& got) {
      throw UsageError(option + ": expected " + expected + ", got " + got);
    };
    if (pattern.size() > most_bytes)
      refuse("a regular expression of at most " + std::to_string(most_bytes) + " bytes",
             std::to_string(pattern.size()));
    try {
      expression.assign(pattern, grammar);
    } catch (const std::regex_error& e) {
      const bool is_too_much = e.code() == std::regex_constants::error_complexity ||
                               e.code() == std::regex_constants::error_space;
      refuse(is_too_much ? "a smaller regular expression, without back references"
                         : "a regular expression (\".*\" is any text)",
             "\"" + pattern + "\"");
    }
  }
  [[nodiscard]] bool matches(const std::string& name) const {
    return std::regex_search(name, expression);
  }
};

NameFilter::NameFilter(const NamePatterns& patterns) {
  for (const std::string& p : patterns.include) include_.emplace_back(p, "--include");
  for (const std::string& p : patterns.exclude) exclude_.emplace_back(p, "--exclude");
}

NameFilter::~NameFilter() = default;

const std::string& NameFilter::left_out(const std::string& name) {
  static const std::string kept;
  if (include_.empty() && exclude_.empty()) return kept;
  const auto found = seen_.find(name);
  return found != seen_.end() ? found->second : seen_.emplace(name, judged(name)).first->second;
}

std::string NameFilter::judged(const std::string& name) {
  if (name.size() > most_bytes)
    throw tq::error(errc::unsupported, "tensor " + shown(name) + ": expected a name of at most " +
                                           std::to_string(most_bytes) +
                                           " bytes beside --include and --exclude, got " +
                                           std::to_string(name.size()));
  bool is_included = include_.empty();
  for (Pattern& p : include_)
    if (p.matches(name)) is_included = p.has_match = true;
  const auto matches = [&](const Pattern& p) { return p.matches(name); };
  if (std::any_of(exclude_.begin(), exclude_.end(), matches)) return "excluded";
  return is_included ? "" : "not included";
}

void NameFilter::require_matches() const {
  for (const Pattern& p : include_)
    if (!p.has_match)
      throw tq::error(errc::bad_argument, "--include \"" + p.text + "\" matches none of the " +
                                              std::to_string(seen_.size()) + " tensors");
}

}  // namespace tool

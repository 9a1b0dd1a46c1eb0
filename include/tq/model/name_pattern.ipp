// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/model/name_pattern.hpp.

#include <tq/error.hpp>
#include <tq/model/name_pattern.hpp>

#include <utility>

namespace tq {

TQ_API NamePattern::NamePattern(std::string text) : text_(std::move(text)) {
  constexpr std::string_view mark = "re:";
  if (text_.empty() || text_ == mark)
    raise(errc::bad_argument, "expected a pattern (\"*\" matches every name), got none");
  const bool is_expression = text_.starts_with(mark);
  if (!is_expression && text_.size() > most_bytes)
    detail::raise_expected(errc::bad_argument, "", {"a pattern of at most ", most_bytes, " bytes"},
                           {text_.size()});
  if (is_expression) expression_.emplace(text_.substr(mark.size()));
}

TQ_API bool NamePattern::matches(const std::string& name) const {
  return expression_ ? expression_->matches(name) : detail::glob_matches(text_, name);
}

TQ_API std::size_t NamePattern::steps() const noexcept {
  return expression_ ? expression_->steps() : 0;
}

}  // namespace tq

// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/model/name_expression.hpp.

#include <tq/error.hpp>
#include <tq/model/detail/expression_matcher.hpp>
#include <tq/model/name_expression.hpp>

namespace tq {

TQ_API bool NameExpression::is_in(std::string_view name) const {
  require_short_name(name);
  return detail::ExpressionMatcher(program_, name).part();
}

TQ_API bool NameExpression::matches(std::string_view name) const {
  require_short_name(name);
  return detail::ExpressionMatcher(program_, name).whole();
}

TQ_API const std::string& NameExpression::require_short(const std::string& text) {
  if (text.size() > most_bytes)
    detail::raise_expected(errc::bad_argument, "",
                           {"a regular expression of at most ", most_bytes, " bytes"},
                           {text.size()});
  return text;
}

TQ_API void NameExpression::require_short_name(std::string_view name) {
  if (name.size() > most_bytes)
    detail::raise_expected(errc::unsupported, "",
                           {"a name of at most ", most_bytes, " bytes beside a regular expression"},
                           {name.size()});
}

}  // namespace tq

// SPDX-License-Identifier: MIT
#pragma once
// Names out of a list: how messages show the list, and what is said of one that is not in it.

#include <tq/error.hpp>
#include <tq/scheme/closest_name.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace tq {

/// "a, b, c".
[[nodiscard]] inline std::string joined_names(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

/// Throws: `errc::unknown_name`, with `where` in front, unless `name` is one of `known`.
inline void require_one_of(std::string_view where, const std::vector<std::string>& known,
                           std::string_view name) {
  if (std::find(known.begin(), known.end(), name) == known.end())
    detail::raise_expected(errc::unknown_name, where, {"one of ", joined_names(known)},
                           {detail::in_quotes(name), did_you_mean(name, known)});
}

}  // namespace tq

// SPDX-License-Identifier: MIT
#pragma once
// Lists of names, in help and in messages.

#include <tq/error.hpp>
#include <tq/io/failure.hpp>
#include <tq/model/closest_name.hpp>
#include <tq/model/known_names.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace tool {

// Throws: errc::unknown_name, with `where` in front, unless `name` is one of `known`.
inline void require_known(std::string_view where, const std::vector<std::string>& known,
                          const std::string& name) {
  if (std::find(known.begin(), known.end(), name) == known.end())
    throw tq::error(tq::errc::unknown_name, std::string(where) + ": expected one of " +
                                                tq::joined_names(known) + ", got " +
                                                tq::io::detail::shown(name) +
                                                tq::did_you_mean(name, known));
}

}  // namespace tool

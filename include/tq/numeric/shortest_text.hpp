// SPDX-License-Identifier: MIT
#pragma once
// Numbers in messages, so that what came can be told from what was expected.

#include <tq/config.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace tq::detail {

// A number in the fewest significant digits, from six on, that are read back as the same number.
[[nodiscard]] inline std::string shortest_text(double value) {
  char text[40];
  for (int digits = 6; digits <= 17; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, value);
    if (std::strtod(text, nullptr) == value) break;
  }
  return text;
}

}  // namespace tq::detail

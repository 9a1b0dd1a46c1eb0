// SPDX-License-Identifier: MIT
#pragma once
// Options in messages of the library, by their names on the command line.

#include <string>
#include <vector>

namespace tool {

// The library writes options as members: "`allow_nonfinite`" becomes "--allow-nonfinite".
[[nodiscard]] std::string with_option_names(std::string text);
[[nodiscard]] std::vector<std::string> with_option_names(std::vector<std::string> texts);

}  // namespace tool

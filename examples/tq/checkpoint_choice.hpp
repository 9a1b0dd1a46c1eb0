// SPDX-License-Identifier: MIT
#pragma once
// Formats of other programs and the engines that load them, by the names of options.

#include "commands.hpp"

#include <string>
#include <vector>

namespace tool {

// The names of --format and of --for, for help and messages.
[[nodiscard]] std::string checkpoint_format_names();
[[nodiscard]] std::string engine_names();

// The choice with format and type. Throws: UsageError for names that are unknown, a type that the
// format has not, options that it has not, and an engine that does not load it.
[[nodiscard]] CheckpointChoice resolved(CheckpointChoice choice);

// A line that loads a folder.
struct LoadingLine {
  std::string engine, line;
};

// The engines that load the format; only the chosen engine where there is one.
[[nodiscard]] std::vector<LoadingLine> loading_lines(const CheckpointChoice& choice,
                                                     const std::string& folder);

}  // namespace tool

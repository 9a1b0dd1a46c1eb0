// SPDX-License-Identifier: MIT
#pragma once
// The identity of a run: the command and all files that values of its output depend on.

#include "quantize_plan.hpp"
#include "stored_model.hpp"

#include <tq/json/json_text.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace tool {

// {"version", "options", "plan", "input": {file: {"path", "size", "time", "inode", "content"}}}.
// "input" has the files of the model, the configurations beside it, which need not exist, and
// `config`, if any. "content" is a digest: of all bytes of JSON files and of headers, and of 64
// blocks of 16 KiB that are spread over a file of data, its first and last bytes included.
[[nodiscard]] tq::io::Json identity_of(const StoredModel& model, const QuantizePlan& plan,
                                       const std::filesystem::path& config);

// How a run differs from one before it.
struct IdentityChange {
  std::vector<std::string> settings;  // "version", "options": another run
  std::vector<std::string> content;   // files of the input with other content, and how they differ
  std::vector<std::string> places;    // files with the same content as far as that is known

  [[nodiscard]] bool is_none() const {
    return settings.empty() && content.empty() && places.empty();
  }
};
[[nodiscard]] IdentityChange change_between(const tq::io::Json& before, const tq::io::Json& now);

}  // namespace tool

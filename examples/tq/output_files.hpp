// SPDX-License-Identifier: MIT
#pragma once
// Names of files to write that would be mistakes, and what lies beside them.

#include "stored_model.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace tool {

// Throws: UsageError, naming the option, unless `out` ends in one of the extensions.
void require_extension(const std::string& option, const std::string& out,
                       const std::vector<std::string>& extensions);

// Removes what runs that were killed have left beside a file that is to be written.
void remove_leftovers(const std::filesystem::path& out);

// Whether two names are those of one file, which need not exist.
[[nodiscard]] bool is_same_file(const std::filesystem::path& a, const std::filesystem::path& b);

// Throws: UsageError, naming the option, where `out` is one of `files`, which `than` stands for.
void require_other_file(const std::string& option, const std::string& out,
                        const std::vector<std::filesystem::path>& files, const std::string& than);

// Throws: UsageError, naming the option, where `out` is the configuration of the model: a
// config.json or quantize_config.json beside it that tq did not write.
void require_no_configuration(const std::string& option, const std::string& out,
                              const StoredModel& model);

}  // namespace tool

// SPDX-License-Identifier: MIT
#pragma once
// Names of files to write that would be mistakes, and what lies beside them.

#include <tq/store/same_file.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace tool {

using tq::store::require_no_configuration;
using tq::store::require_other_file;

// Throws: UsageError, naming the option, unless `out` ends in one of the extensions.
void require_extension(const std::string& option, const std::string& out,
                       const std::vector<std::string>& extensions);

// Removes what runs that were killed have left beside a file that is to be written.
void remove_leftovers(const std::filesystem::path& out);

}  // namespace tool

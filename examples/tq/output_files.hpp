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

// Looks at the place of an output before inputs are read, which may take long: removes leftovers.
// Throws: as require_free_place; tq::error where the folder cannot be written to.
void require_place(const std::filesystem::path& out, bool overwrite);

}  // namespace tool

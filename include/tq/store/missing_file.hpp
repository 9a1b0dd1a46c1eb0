// SPDX-License-Identifier: MIT
#pragma once
// Names of files and folders that are not there, and what may have been meant.

#include <tq/bodies.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace tq::store {

namespace detail {

// The names in a folder, without hidden ones.
[[nodiscard]] TQ_API std::vector<std::string> names_in(const std::filesystem::path& folder);

}  // namespace detail

/// For the end of a message about a path that does not exist: which of its folders is missing,
/// where that is not the last name, and `; did you mean "llama-3-8b"?` where a name beside it is
/// close. Hidden names are never proposed. Empty where there is nothing to say.
[[nodiscard]] TQ_API std::string missing_file_hint(const std::filesystem::path& path);

/// Throws: `errc::io_failure` with that hint where nothing has this name.
TQ_API void require_there(const std::filesystem::path& path);

}  // namespace tq::store

#ifndef TQ_FILE_LIBRARY
#include <tq/store/missing_file.ipp>
#endif

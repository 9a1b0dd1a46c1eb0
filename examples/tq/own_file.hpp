// SPDX-License-Identifier: MIT
#pragma once
// The one rule for outputs that exist: tq replaces them with --overwrite, or where tq wrote them.

#include <filesystem>
#include <string>

namespace tool {

// Marks a file that was just written as one of tq, by an extended attribute with its size and time.
// Where the file system has no such attributes, nothing happens.
void mark_as_own(const std::filesystem::path& file) noexcept;

// True for a regular file that tq wrote: one that has the mark and has not changed since, or one
// with the metadata of tq quantize. False for a symbolic link.
[[nodiscard]] bool is_own(const std::filesystem::path& file);

// Throws: errc::bad_argument where `out` has something that must not be replaced: unless
// `overwrite`, a link or a file that is not of tq.
void require_free_place(const std::filesystem::path& out, bool overwrite);

// "expected a free place for the output, got <what>; --overwrite replaces it".
[[nodiscard]] std::string occupied_by(const std::string& what);

// True for anything, a link that names no file included.
[[nodiscard]] bool is_there(const std::filesystem::path& path);

}  // namespace tool

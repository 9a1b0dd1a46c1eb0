// SPDX-License-Identifier: MIT
#pragma once
// The bytes of a file that `tq::save` writes: by the library of files, and by the bodies in headers.

#include <filesystem>
#include <string>

std::string bytes_by_library(const std::filesystem::path& file);
std::string bytes_by_headers(const std::filesystem::path& file);

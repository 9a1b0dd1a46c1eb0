// SPDX-License-Identifier: MIT
#pragma once
// The learning curves as one HTML document that needs nothing else.

#include "result.hpp"

#include <filesystem>
#include <vector>

/// Throws: std::runtime_error when the file cannot be written.
void write_page(const std::filesystem::path& file, const std::vector<Result>& results);

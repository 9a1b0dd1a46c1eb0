// SPDX-License-Identifier: MIT
#pragma once
// Where the models and data sets of the examples are.

#include <filesystem>

namespace examples {

/// examples/data of this checkout. One source file has the path, so that all others are the same in
/// every clone.
[[nodiscard]] std::filesystem::path data_folder();

}  // namespace examples

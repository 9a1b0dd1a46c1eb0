// SPDX-License-Identifier: MIT
#pragma once
// Files beside a model in its folder, such as config.json, which are not copied to the output.

#include "stored_model.hpp"

#include <string>
#include <vector>

namespace tool {

// Files of the folder of a model that are not read, and that the folder of the output has not:
// config.json, tokenizer.json, ...; folders end in '/'. By name, without hidden ones. Only of a
// model that was given as a folder or as an index: a single file may lie among anything.
[[nodiscard]] std::vector<std::string> files_left_behind(const std::string& in,
                                                         const StoredModel& model,
                                                         const std::string& out);

// One line that says so; nothing where none is left.
void print_left_behind(const std::vector<std::string>& names, const std::string& in);

}  // namespace tool

// SPDX-License-Identifier: MIT
#pragma once
// The types of GGUF files by their names.

#include <tq/layouts/gguf/type.hpp>

#include <string>
#include <vector>

namespace tool {

// The types of blocks that hold weights.
[[nodiscard]] std::vector<std::string> gguf_block_names();
// The type of that name, in upper or lower case, or null where none of these has it.
[[nodiscard]] const tq::layouts::gguf::TypeInfo* find_gguf_block(const std::string& name);

}  // namespace tool

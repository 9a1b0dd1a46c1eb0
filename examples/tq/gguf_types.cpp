// SPDX-License-Identifier: MIT
#include "gguf_types.hpp"

#include <tq/layouts/gguf/block.hpp>

namespace tool {

std::vector<std::string> gguf_block_names() {
  std::vector<std::string> names;
  for (const tq::layouts::gguf::TypeInfo& info : tq::layouts::gguf::types)
    if (tq::layouts::gguf::holds_weights(info.type)) names.emplace_back(info.name);
  return names;
}

const tq::layouts::gguf::TypeInfo* find_gguf_block(const std::string& name) {
  const tq::layouts::gguf::TypeInfo* const info = tq::layouts::gguf::find_type(name);
  return info != nullptr && tq::layouts::gguf::holds_weights(info->type) ? info : nullptr;
}

}  // namespace tool

// SPDX-License-Identifier: MIT
#pragma once
// require_fitting_keys: keys of a GGUF model that count what its tensors have.

#include <tq/containers/gguf_value.hpp>
#include <tq/error.hpp>
#include <tq/store/detail/gguf_decider.hpp>
#include <tq/store/detail/gguf_input.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace tq::store::detail {

// Throws: errc::shape_mismatch where the number of blocks, of tokens or of the elements of a token
// is not that of the tensors: llama.cpp loads no such file.
inline void require_fitting_keys(const GgufInput& input, const std::string& path) {
  const std::string architecture = gguf_architecture(input.entries);
  const auto require = [&](const char* key, std::size_t found, const char* of) {
    const std::string name = architecture + "." + key;
    const std::optional<std::uint64_t> said = io::gguf_count(input.entries, name);
    if (said && *said != found)
      tq::detail::raise_text(errc::shape_mismatch, {path, ": expected ", *said, " ", of, ", as ",
                                                    name, " says, got ", found});
  };
  std::size_t blocks = 0;
  for (const GgufItem& item : input.items) {
    if (const auto block = gguf_block(item.to.name)) blocks = std::max(blocks, *block + 1);
    if (item.to.name != "token_embd.weight" || item.to.shape.size() != 2) continue;
    require("vocab_size", item.to.shape[0], "tokens");
    require("embedding_length", item.to.shape[1], "elements of a token");
  }
  require("block_count", blocks, "blocks of tensors");
}

}  // namespace tq::store::detail

// SPDX-License-Identifier: MIT
#pragma once
// GgufOptions: how write_gguf works.

#include <tq/store/name_patterns.hpp>
#include <tq/store/team.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace tq {

/// The quantizers of GGUF blocks. `ggml` makes the bytes of llama.cpp; `best` searches for blocks
/// with less error in all formats for which tq has such a search, and is `ggml` in the others.
enum class GgufMethod : std::uint8_t { best, ggml };

/// Options of `write_gguf`.
struct GgufOptions {
  std::string type = "q4_k_m";     ///< a name of `gguf_mix_names()`
  std::filesystem::path config{};  ///< a file for `read_gguf_mix` in place of `type`; empty: none
  GgufMethod method = GgufMethod::best;
  std::filesystem::path
      imatrix{};  ///< a file for `read_importance`; empty: all inputs weigh the same
  std::filesystem::path mapping{};  ///< a file for `read_gguf_mapping`; empty: that of Llama models
  std::filesystem::path metadata{};  ///< a GGUF file with more keys, such as a tokenizer's
  store::NamePatterns names{};       ///< weights to quantize, by their names in the output
  bool requantize = false;           ///< quantize weights anew that are quantized in the input
  /// Bytes of tensors of a part: the output becomes "OUT-00001-of-00003.gguf" and so on, as
  /// llama-gguf-split makes them. A larger tensor has a part of its own. 0: one file.
  std::uint64_t shard_size = 0;
  std::size_t jobs = 1;               ///< threads; the bytes of the output do not depend on it
  bool overwrite = false;             ///< replace what is in the place of the output
  const store::Team* team = nullptr;  ///< ranks that share the parts; null: this process alone

  /// As that of `ConvertOptions`, in bytes of the output.
  std::function<void(std::uint64_t done, std::uint64_t all)> progress{};
  /// As that of `ConvertOptions`.
  std::function<void(const std::string& changed)> on_restart{};
};

}  // namespace tq

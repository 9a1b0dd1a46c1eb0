// SPDX-License-Identifier: MIT
#pragma once
// GgufReport: the tensors of a GGUF file that was written.

#include <tq/bodies.hpp>
#include <tq/layouts/gguf/type.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tq {

/// A tensor of a GGUF file that was written.
struct GgufWritten {
  std::string name;                  ///< in the file
  std::vector<std::size_t> shape{};  ///< row-major
  std::string from{};                ///< its type in the input ("BF16", "q8_0")
  layouts::gguf::Type type = layouts::gguf::Type::f32;
  std::string note{};  ///< why it has not the type that the mix chose, or empty
  std::uint64_t bytes_before = 0, bytes_after = 0;
};

/// The result of `write_gguf`.
struct GgufReport {
  std::filesystem::path file{};        ///< the first of the parts
  std::vector<GgufWritten> tensors{};  ///< in the order of the file
  std::vector<std::string> dropped{};  ///< tensors of the input that GGUF models do not have
  std::vector<std::string> notes{};    ///< sentences about keys that are missing, and the like
  std::size_t shards = 1;              ///< files
  /// Parts that a run before this one had finished; nothing where the output is one file.
  std::optional<std::size_t> reused_shards{};

  [[nodiscard]] TQ_API std::uint64_t bytes_before() const;
  [[nodiscard]] TQ_API std::uint64_t bytes_after() const;
  /// Bits per element of all tensors, those in float included.
  [[nodiscard]] TQ_API double bits_per_weight() const;
};

}  // namespace tq

#ifndef TQ_FILE_LIBRARY
#include <tq/store/gguf_report.ipp>
#endif

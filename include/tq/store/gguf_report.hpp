// SPDX-License-Identifier: MIT
#pragma once
// GgufReport: the tensors of a GGUF file that was written.

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

  [[nodiscard]] std::uint64_t bytes_before() const {
    std::uint64_t sum = 0;
    for (const GgufWritten& t : tensors) sum += t.bytes_before;
    return sum;
  }
  [[nodiscard]] std::uint64_t bytes_after() const {
    std::uint64_t sum = 0;
    for (const GgufWritten& t : tensors) sum += t.bytes_after;
    return sum;
  }
  /// Bits per element of all tensors, those in float included.
  [[nodiscard]] double bits_per_weight() const {
    double count = 0;
    for (const GgufWritten& t : tensors) {
      double n = 1;
      for (const std::size_t extent : t.shape) n *= static_cast<double>(extent);
      count += n;
    }
    return count == 0 ? 0.0 : 8.0 * static_cast<double>(bytes_after()) / count;
  }
};

}  // namespace tq

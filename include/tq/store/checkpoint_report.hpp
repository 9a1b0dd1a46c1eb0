// SPDX-License-Identifier: MIT
#pragma once
// CheckpointReport: the layers of a model that write_checkpoint wrote.

#include <tq/checkpoints/model_layer.hpp>
#include <tq/ptq/weight_report.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tq {

/// The result of `write_checkpoint`.
struct CheckpointReport {
  std::string format;                    ///< its name
  std::filesystem::path folder{};        ///< that was written
  std::vector<std::string> quantized{};  ///< modules, in the order of the input
  std::vector<io::LeftModule> left{};    ///< modules with matrices that stay in float, and why
  /// The results of an algorithm, or of its fallback, by module. Layers whose codes the format
  /// takes over from another program are not among them.
  std::map<std::string, WeightReport> algorithms{};
  std::vector<std::string> dropped{};     ///< tensors that the output has not, such as a tied head
  std::vector<std::string> notes{};       ///< on engines with limits, sentences of the format
  std::vector<std::string> copied{};      ///< files that were carried over, byte for byte
  std::vector<std::string> not_copied{};  ///< files of the input that engines must not see
  std::uint64_t bytes_before = 0, bytes_after = 0;  ///< of all tensors
  std::uint64_t weights = 0, weight_bytes = 0;      ///< of the quantized layers
  std::size_t shards = 1;
  std::optional<std::size_t> reused_shards{};  ///< finished by an earlier run; of several shards

  /// Bits for each weight of the quantized layers, scales included.
  [[nodiscard]] double bits_per_weight() const {
    return weights == 0 ? 0.0
                        : 8.0 * static_cast<double>(weight_bytes) / static_cast<double>(weights);
  }
};

}  // namespace tq

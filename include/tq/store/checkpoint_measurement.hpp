// SPDX-License-Identifier: MIT
#pragma once
// CheckpointMeasurement: the layers of a model in schemes of a format, to choose from.

#include <tq/checkpoints/model_layer.hpp>
#include <tq/select/precision_model.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tq {

/// The result of `measure_checkpoint`.
struct CheckpointMeasurement {
  /// A node for each layer, by its module; bytes are those of its parts in a file.
  PrecisionModel layers;
  std::vector<io::LeftModule> left{};  ///< modules that stay in float whatever is chosen, and why
  std::uint64_t other_bytes = 0;       ///< of the tensors that stay as they are
  /// Bytes that each candidate of each layer adds to the header of a file, at least: offsets of few
  /// digits are shorter.
  std::vector<std::vector<std::uint64_t>> header_bytes{};
  std::uint64_t other_header_bytes = 0;  ///< of headers beside those of the layers, at least

  /// `layers`, whose bytes include those of headers.
  [[nodiscard]] PrecisionModel layers_with_headers() const {
    PrecisionModel out = layers;
    for (std::size_t i = 0; i < out.nodes.size(); ++i)
      for (std::size_t j = 0; j < out.nodes[i].candidates.size(); ++j)
        out.nodes[i].candidates[j].bytes += header_bytes.at(i).at(j);
    return out;
  }
};

}  // namespace tq

// SPDX-License-Identifier: MIT
#pragma once
// CheckpointMeasurement: the layers of a model in schemes of a format, to choose from.

#include <tq/checkpoints/model_layer.hpp>
#include <tq/select/precision_model.hpp>

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
};

}  // namespace tq

// SPDX-License-Identifier: MIT
#pragma once
// LinearWeight: a weight of a linear layer that is about to be written in another program's format.

#include <tq/containers/dtype.hpp>

#include <cstddef>
#include <string>

namespace tq::io {

/// The weight [outputs, inputs] of a linear layer of a model that is being written.
struct LinearWeight {
  std::string module;  ///< name of the weight without ".weight": "model.layers.0.mlp.up_proj"
  std::size_t outputs = 0, inputs = 0;
  DType dtype = DType::bf16;  ///< F32, F16 or BF16, the type of the model: many scales have it
  std::size_t experts = 0;    ///< more than 0: the weight is [experts, outputs, inputs]
  std::size_t band_of = 0;    ///< more than 0: a band of rows of a layer with so many outputs
  float set_abs_max = 0.0f;   ///< largest magnitude of its fused set (`needs_set_abs_max`), else 0
  /// Largest magnitude of the inputs of its fused set (`needs_inputs_abs_max`), else 0.
  float inputs_abs_max = 0.0f;
};

}  // namespace tq::io

// SPDX-License-Identifier: MIT
#pragma once
// decode_checkpoint: the values of a weight that another program quantized.

#include <tq/checkpoints/checkpoint_tensor.hpp>
#include <tq/checkpoints/checkpoint_weight.hpp>
#include <tq/checkpoints/load_checkpoint.hpp>
#include <tq/ops/backend/backend.hpp>

#include <vector>

namespace tq::io {

/// The values of a weight that `find_quantized` found, row-major in its shape, as its format
/// defines them in float32. Throws: as `load_checkpoint` and `decode`.
template <Backend B = default_backend, class Formats = all_checkpoint_formats>
[[nodiscard]] std::vector<float> decode_checkpoint(const CheckpointWeight& weight,
                                                   const ReadTensor& read) {
  return decode<B>(load_checkpoint<B, Formats>(weight, read));
}

}  // namespace tq::io

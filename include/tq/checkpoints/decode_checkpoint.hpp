// SPDX-License-Identifier: MIT
#pragma once
// decode_checkpoint: the values of a weight that another program quantized.

#include <tq/checkpoints/checkpoint_tensor.hpp>
#include <tq/checkpoints/checkpoint_weight.hpp>
#include <tq/checkpoints/detail/transposed.hpp>
#include <tq/checkpoints/load_checkpoint.hpp>
#include <tq/ops/backend/backend.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace tq::io {

/// The values of a weight that `find_quantized` found, row-major in its shape, as its format
/// defines them in float32. Throws: as `load_checkpoint` and `decode`.
template <Backend B = default_backend, class Formats = all_checkpoint_formats>
[[nodiscard]] std::vector<float> decode_checkpoint(const CheckpointWeight& weight,
                                                   const ReadTensor& read) {
  const CheckpointTensor coded = load_checkpoint<B, Formats>(weight, read);
  std::vector<float> values = decode<B>(coded);
  if (!weight.is_transposed) return values;
  const Shape& shape = coded.tensor.shape;
  const std::size_t rows = shape[shape.rank() - 2], columns = shape[shape.rank() - 1];
  std::vector<float> out(values.size());
  for (std::size_t first = 0; first < out.size(); first += rows * columns)
    tq::detail::transpose(std::span<const float>(values).subspan(first), rows, columns,
                          std::span(out).subspan(first));
  return out;
}

}  // namespace tq::io

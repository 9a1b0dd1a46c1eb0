// SPDX-License-Identifier: MIT
#pragma once
// CheckpointWeight: a weight that a file of another program holds quantized, in several tensors;
// and QuantizedCheckpoint, all of them that a file has.

#include <tq/containers/dtype.hpp>
#include <tq/containers/tensor.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tq::io {

/// A quantized weight, as it would be in a model of floats: `load_checkpoint` has
/// its codes, `decode_checkpoint` its values.
struct CheckpointWeight {
  std::string name;                ///< "layer.weight"
  DType dtype = DType::f32;        ///< the float type it had, or else F32
  std::vector<std::size_t> shape;  ///< [outputs, inputs] of matrices
  /// The model of floats has a stack [experts, inputs, outputs], and so has `shape`; the codes are
  /// [experts, outputs, inputs].
  bool is_transposed = false;
  std::string_view format;                   ///< the name of its `CheckpointFormat`: "gptq"
  std::string scheme;                        ///< for people: "gptq uint4, groups of 128"
  std::map<std::string, std::string> parts;  ///< from role to the name of the tensor
  int bits = 8;                              ///< of a code
  std::size_t group_size = 0;                ///< inputs, or values, of a scale; 0: as g_idx says
  std::vector<std::size_t> block;            ///< of scaled_float8: the extents of its blocks
  bool is_gptq_v2 = false;                   ///< qzeros hold zero points as they are
  /// More than 0: every part is a stack [experts, ...], in which this weight is number `expert`.
  std::size_t experts = 0, expert = 0;

  /// The shape of the codes: [outputs, inputs] of every matrix.
  [[nodiscard]] std::vector<std::size_t> code_shape() const {
    std::vector<std::size_t> out = shape;
    if (is_transposed) std::swap(out.at(out.size() - 2), out.back());
    return out;
  }
};

/// A tensor that is no weight, although it may look like one.
struct LeftAlone {
  std::string reason;
  bool is_unreadable =
      false;  ///< part of a weight that cannot be read; the reason says what was expected
  bool is_of_activations = false;  ///< a scale of activations beside a weight that is read
};

/// The quantized weights of a file, found by the names, types and shapes of its tensors.
struct QuantizedCheckpoint {
  std::vector<CheckpointWeight> weights;
  /// By name: scales of activations, and parts of weights that cannot be read or are not here.
  std::map<std::string, LeftAlone> left_alone;
};

/// Reads a tensor of the file by its name.
using ReadTensor = std::function<Tensor(const std::string&)>;

}  // namespace tq::io

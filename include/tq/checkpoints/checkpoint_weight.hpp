// SPDX-License-Identifier: MIT
#pragma once
// CheckpointWeight: a weight that a file of another program holds quantized, in several tensors;
// and QuantizedCheckpoint, all of them that a file has.

#include <tq/containers/dtype.hpp>
#include <tq/containers/tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tq::io {

/// How other programs store quantized weights. The tensors of a weight W = "layer.weight" are, with
/// the roles they have in `CheckpointWeight::parts`:
enum class CheckpointFormat : std::uint8_t {
  /// W float8; scales W_scale_inv (DeepSeek), W_scale (compressed-tensors, ModelOpt),
  /// layer.scale_weight
  /// (ComfyUI) or layer.scale: one, one per row, or one per block; real = W * scale.
  scaled_float8,
  /// W int8; scales W_scale: one, [N, 1] or [N, G]; perhaps zero_points W_zero_point
  /// (compressed-tensors).
  int8_scaled,
  /// weight_packed int32, weight_scale, weight_shape; perhaps weight_zero_point, weight_g_idx
  /// (`tq::layouts::compressed_tensors`).
  compressed_tensors,
  /// W uint8, W_scale F8_E4M3, W_scale_2 (ModelOpt); or weight_packed uint8, weight_scale F8_E4M3,
  /// weight_global_scale, which divides (compressed-tensors): `tq::layouts::nvidia`.
  nvfp4,
  gptq,  ///< layer.qweight, qzeros, scales; perhaps g_idx (`tq::layouts::gptq`)
  awq,   ///< layer.qweight, qzeros, scales (`tq::layouts::awq`)
  /// W, W.absmax, W.quant_map, W.quant_state.bitsandbytes__nf4 or __fp4; of double quantization
  /// also
  /// W.nested_absmax, W.nested_quant_map (`tq::layouts::bitsandbytes`).
  bitsandbytes_4bit,
  bitsandbytes_8bit,  ///< W int8, layer.SCB; perhaps layer.weight_format
};

[[nodiscard]] constexpr std::string_view to_string(CheckpointFormat format) noexcept {
  switch (format) {
    case CheckpointFormat::scaled_float8: return "scaled_float8";
    case CheckpointFormat::int8_scaled: return "int8_scaled";
    case CheckpointFormat::compressed_tensors: return "compressed_tensors";
    case CheckpointFormat::nvfp4: return "nvfp4";
    case CheckpointFormat::gptq: return "gptq";
    case CheckpointFormat::awq: return "awq";
    case CheckpointFormat::bitsandbytes_4bit: return "bitsandbytes_4bit";
    case CheckpointFormat::bitsandbytes_8bit: return "bitsandbytes_8bit";
  }
  return "unknown";
}

/// A quantized weight, as it would be in a model of floats: its values come from
/// `decode_checkpoint`.
struct CheckpointWeight {
  std::string name;                ///< "layer.weight"
  DType dtype = DType::f32;        ///< the float type it had, or else F32
  std::vector<std::size_t> shape;  ///< [outputs, inputs] of matrices
  CheckpointFormat format = CheckpointFormat::scaled_float8;
  std::string scheme;                        ///< for people: "gptq uint4, groups of 128"
  std::map<std::string, std::string> parts;  ///< from role to the name of the tensor
  int bits = 8;                              ///< of a code
  std::size_t group_size = 0;                ///< inputs, or values, of a scale; 0: as g_idx says
  std::vector<std::size_t> block;            ///< of scaled_float8: the extents of its blocks
  bool is_gptq_v2 = false;                   ///< qzeros hold zero points as they are
};

/// A tensor that is no weight, although it may look like one.
struct LeftAlone {
  std::string reason;
  bool is_unreadable =
      false;  ///< part of a weight that cannot be read; the reason says what was expected
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

// SPDX-License-Identifier: MIT
#pragma once
// The tensors that a quantized tensor becomes in a file.
//
// Tensor "w" is stored as
//   w.codes         in a type of safetensors, with the shape of w, where the reference readers have
//                   one for the codes (I8, U16, F8_E4M3, BF16, F4 with an even last extent, ...);
//                   else U8, packed from the lowest bit on
//   w.scales        the grid of parameter blocks: F32, F16, BF16, F8_E8M0, F8_E4M3, or U8 for codes
//                   of double quantization
//   w.tensor_scale  F32 [1], of scales on two levels
//   w.block_scales  F32, and w.scale_offset, F32 [1], of double quantization
//   w.zero_points   I8, U8, I16 or U16, where the symmetry has them
//   w.offsets       likewise, in the type of w.scales
// A cast (scale type "none") to a type of safetensors is stored as "w": any reader understands it.

#include <tq/containers/tensor.hpp>
#include <tq/scheme/encoded_layout.hpp>
#include <tq/scheme/stored_parameters.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tool {

enum class PartKind {
  codes,
  scales,
  tensor_scale,
  block_scales,
  scale_offset,
  zero_points,
  offsets
};

struct StoredPart {
  PartKind kind;
  std::string_view ending;  // ".codes"
  tq::io::DType dtype;
  std::vector<std::size_t> shape;

  [[nodiscard]] std::string name(const std::string& tensor) const {
    return tensor + std::string(ending);
  }
};

// How parts are stored, in the metadata. Version 1 had integers of 8 and 16 bits packed as well,
// and F4 and F6 wherever they fill whole bytes.
inline constexpr int layout_version = 2;

// The parts of a tensor of that shape; the codes come first.
[[nodiscard]] std::vector<StoredPart> stored_parts(const std::vector<std::size_t>& shape,
                                                   const tq::QuantSpec& spec,
                                                   const tq::EncodedLayout& layout,
                                                   int version = layout_version);

// What to store of `tensor` as that part.
[[nodiscard]] std::vector<std::byte> part_bytes(const tq::EncodedTensor& tensor,
                                                const StoredPart& part);

// Puts a stored part of the parameters, whose type and shape are those of `part`, where it belongs.
void set_part(tq::StoredParameters& parameters, const StoredPart& part, tq::io::Tensor&& stored);

}  // namespace tool

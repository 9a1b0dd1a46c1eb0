// SPDX-License-Identifier: MIT
#pragma once
// The tensors that a quantized tensor becomes in a file; docs/file-format.md is the reference.
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

#include <tq/bodies.hpp>
#include <tq/containers/dtype.hpp>
#include <tq/scheme/encoded_layout.hpp>
#include <tq/scheme/quant_spec.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tq::store {

/// The role of a part of a quantized tensor.
enum class PartKind : std::uint8_t {
  codes,
  scales,
  tensor_scale,
  block_scales,
  scale_offset,
  zero_points,
  offsets
};

/// A tensor of a file that holds one part of a quantized tensor.
struct StoredPart {
  PartKind kind;
  std::string_view ending;  ///< ".codes"
  io::DType dtype;
  std::vector<std::size_t> shape;

  [[nodiscard]] TQ_API std::string name(const std::string& tensor) const;
};

/// How parts are stored, in the metadata. Version 1 had integers of 8 and 16 bits packed as well,
/// and F4 and F6 wherever they fill whole bytes.
inline constexpr int layout_version = 2;

/// The parts of a tensor of that shape; the codes come first.
[[nodiscard]] TQ_API std::vector<StoredPart> stored_parts(const std::vector<std::size_t>& shape,
                                                          const QuantSpec& spec,
                                                          const EncodedLayout& layout,
                                                          int version = layout_version);

}  // namespace tq::store

#ifndef TQ_FILE_LIBRARY
#include <tq/store/stored_parts.ipp>
#endif

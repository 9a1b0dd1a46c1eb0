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

#include <tq/containers/dtype.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/scheme/encoded_layout.hpp>
#include <tq/scheme/quant_spec.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
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

  [[nodiscard]] std::string name(const std::string& tensor) const {
    return tensor + std::string(ending);
  }
};

/// How parts are stored, in the metadata. Version 1 had integers of 8 and 16 bits packed as well,
/// and F4 and F6 wherever they fill whole bytes.
inline constexpr int layout_version = 2;

namespace detail {

[[nodiscard]] inline io::DType zero_point_dtype(const EncodedLayout& layout) {
  const bool is_signed = layout.type.min < 0;
  if (layout.bits > 8) return is_signed ? io::DType::i16 : io::DType::u16;
  return is_signed ? io::DType::i8 : io::DType::u8;
}

// The type in which codes have the shape of the tensor, for other readers; nothing where they are
// packed in bytes.
[[nodiscard]] inline std::optional<io::DType> code_dtype(const QuantSpec& spec,
                                                         const EncodedLayout& layout,
                                                         const std::vector<std::size_t>& shape,
                                                         int version) {
  using io::DType;
  const auto standard = io::dtype_from_element(spec.type);
  if (version == 1)
    return standard && io::storage_bytes(*standard, shape) ? standard : std::nullopt;
  const bool is_signed = layout.type.min < 0;
  if (!standard && layout.bits == 8) return is_signed ? DType::i8 : DType::u8;
  if (!standard && layout.bits == 16) return is_signed ? DType::i16 : DType::u16;
  if (!standard || bits(*standard) >= 8) return standard;
  // torch has pairs of F4 along the last axis, and no type of 6 bits.
  const bool has_pairs = !shape.empty() && shape.back() % 2 == 0;
  return *standard == DType::f4 && has_pairs ? standard : std::nullopt;
}

// The type of offsets too.
[[nodiscard]] inline io::DType scale_dtype(const EncodedLayout& layout) {
  if (!layout.stored.is_coded()) return io::DType::f32;
  return io::dtype_from_element(layout.stored.element).value_or(io::DType::u8);
}

}  // namespace detail

/// The parts of a tensor of that shape; the codes come first.
[[nodiscard]] inline std::vector<StoredPart> stored_parts(const std::vector<std::size_t>& shape,
                                                          const QuantSpec& spec,
                                                          const EncodedLayout& layout,
                                                          int version = layout_version) {
  using io::DType;
  const std::vector<std::size_t> grid{layout.scales.extents().begin(),
                                      layout.scales.extents().end()};
  const auto standard = detail::code_dtype(spec, layout, shape, version);
  const DType scales = detail::scale_dtype(layout);
  const bool is_cast = layout.stored.bits == 0;
  std::vector<StoredPart> parts;
  if (standard) parts.push_back({PartKind::codes, is_cast ? "" : ".codes", *standard, shape});
  else parts.push_back({PartKind::codes, ".codes", DType::u8, {layout.code_bytes}});
  if (!is_cast) parts.push_back({PartKind::scales, ".scales", scales, grid});
  if (layout.stored.has_offset) {
    parts.push_back({PartKind::block_scales, ".block_scales", DType::f32, {layout.stored.factors}});
    parts.push_back({PartKind::scale_offset, ".scale_offset", DType::f32, {1}});
  } else if (layout.stored.factors != 0) {
    parts.push_back({PartKind::tensor_scale, ".tensor_scale", DType::f32, {1}});
  }
  if (layout.has_zero_points)
    parts.push_back(
        {PartKind::zero_points, ".zero_points", detail::zero_point_dtype(layout), grid});
  if (layout.has_offsets) parts.push_back({PartKind::offsets, ".offsets", scales, grid});
  return parts;
}

}  // namespace tq::store

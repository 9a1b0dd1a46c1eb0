// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/store/stored_parts.hpp.

#include <tq/containers/tensor.hpp>
#include <tq/store/stored_parts.hpp>

#include <optional>

namespace tq::store {

TQ_API std::string StoredPart::name(const std::string& tensor) const {
  return tensor + std::string(ending);
}

namespace detail {

TQ_API io::DType zero_point_dtype(const EncodedLayout& layout) {
  const bool is_signed = layout.type.min < 0;
  if (layout.bits > 8) return is_signed ? io::DType::i16 : io::DType::u16;
  return is_signed ? io::DType::i8 : io::DType::u8;
}

// The type in which codes have the shape of the tensor, for other readers; nothing where they are
// packed in bytes.
TQ_API std::optional<io::DType> code_dtype(const QuantSpec& spec, const EncodedLayout& layout,
                                           const std::vector<std::size_t>& shape, int version) {
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
TQ_API io::DType scale_dtype(const EncodedLayout& layout) {
  if (!layout.stored.is_coded()) return io::DType::f32;
  return io::dtype_from_element(layout.stored.element).value_or(io::DType::u8);
}

}  // namespace detail

TQ_API std::vector<StoredPart> stored_parts(const std::vector<std::size_t>& shape,
                                            const QuantSpec& spec, const EncodedLayout& layout,
                                            int version) {
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

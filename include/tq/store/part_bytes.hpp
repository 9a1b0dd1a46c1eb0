// SPDX-License-Identifier: MIT
#include "stored_parts.hpp"

#include "common/encoding.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace tool {

namespace {

using tq::io::DType;

DType zero_point_dtype(const tq::EncodedLayout& layout) {
  const bool is_signed = layout.type.min < 0;
  if (layout.bits > 8) return is_signed ? DType::i16 : DType::u16;
  return is_signed ? DType::i8 : DType::u8;
}

// The type in which codes have the shape of the tensor, for other readers; nothing where they are
// packed in bytes.
std::optional<DType> code_dtype(const tq::QuantSpec& spec, const tq::EncodedLayout& layout,
                                const std::vector<std::size_t>& shape, int version) {
  const auto standard = tq::io::dtype_from_element(spec.type);
  if (version == 1)
    return standard && tq::io::storage_bytes(*standard, shape) ? standard : std::nullopt;
  const bool is_signed = layout.type.min < 0;
  if (!standard && layout.bits == 8) return is_signed ? DType::i8 : DType::u8;
  if (!standard && layout.bits == 16) return is_signed ? DType::i16 : DType::u16;
  if (!standard || bits(*standard) >= 8) return standard;
  // torch has pairs of F4 along the last axis, and no type of 6 bits.
  const bool has_pairs = !shape.empty() && shape.back() % 2 == 0;
  return *standard == DType::f4 && has_pairs ? standard : std::nullopt;
}

// Of offsets too.
DType scale_dtype(const tq::EncodedLayout& layout) {
  if (!layout.stored.is_coded()) return DType::f32;
  return tq::io::dtype_from_element(layout.stored.element).value_or(DType::u8);
}

// Integers as T, little-endian.
template <class T, class From>
std::vector<std::byte> narrowed(const std::vector<From>& values) {
  std::vector<T> out;
  out.reserve(values.size());
  for (const From v : values) out.push_back(static_cast<T>(v));
  return tq::io::from_values<T>("", {out.size()}, out).bytes;
}

std::vector<std::byte> float_bytes(std::span<const float> values) {
  return tq::io::from_values<float>("", {values.size()}, values).bytes;
}

std::vector<std::byte> scale_bytes(const tq::StoredScales& scales, DType dtype) {
  if (dtype == DType::f32) return float_bytes(scales.factors);
  return bits(dtype) == 8 ? narrowed<std::uint8_t>(scales.codes)
                          : narrowed<std::uint16_t>(scales.codes);
}

std::vector<std::byte> zero_point_bytes(const std::vector<std::int32_t>& zero_points, DType dtype) {
  switch (dtype) {
    case DType::i8: return narrowed<std::int8_t>(zero_points);
    case DType::u8: return narrowed<std::uint8_t>(zero_points);
    case DType::i16: return narrowed<std::int16_t>(zero_points);
    default: return narrowed<std::uint16_t>(zero_points);
  }
}

void set_scales(tq::StoredScales& scales, const tq::io::Tensor& stored) {
  if (stored.dtype == DType::f32) {
    scales.factors = tq::io::values<float>(stored);
  } else if (bits(stored.dtype) == 8) {
    for (const std::byte b : stored.bytes)
      scales.codes.push_back(std::to_integer<std::uint16_t>(b));
  } else {
    for (std::size_t i = 0; i < stored.bytes.size(); i += 2)
      scales.codes.push_back(tq::io::load_le<std::uint16_t>(stored.bytes.data() + i));
  }
}

}  // namespace

std::vector<StoredPart> stored_parts(const std::vector<std::size_t>& shape,
                                     const tq::QuantSpec& spec, const tq::EncodedLayout& layout,
                                     int version) {
  const std::vector<std::size_t> grid{layout.scales.extents().begin(),
                                      layout.scales.extents().end()};
  const auto standard = code_dtype(spec, layout, shape, version);
  const bool is_cast = layout.stored.bits == 0;
  std::vector<StoredPart> parts;
  if (standard) parts.push_back({PartKind::codes, is_cast ? "" : ".codes", *standard, shape});
  else parts.push_back({PartKind::codes, ".codes", DType::u8, {layout.code_bytes}});
  if (!is_cast) parts.push_back({PartKind::scales, ".scales", scale_dtype(layout), grid});
  if (layout.stored.has_offset) {
    parts.push_back({PartKind::block_scales, ".block_scales", DType::f32, {layout.stored.factors}});
    parts.push_back({PartKind::scale_offset, ".scale_offset", DType::f32, {1}});
  } else if (layout.stored.factors != 0) {
    parts.push_back({PartKind::tensor_scale, ".tensor_scale", DType::f32, {1}});
  }
  if (layout.has_zero_points)
    parts.push_back({PartKind::zero_points, ".zero_points", zero_point_dtype(layout), grid});
  if (layout.has_offsets)
    parts.push_back({PartKind::offsets, ".offsets", scale_dtype(layout), grid});
  return parts;
}

std::vector<std::byte> part_bytes(const tq::EncodedTensor& tensor, const StoredPart& part) {
  if (part.kind == PartKind::codes) return {tensor.codes.span().begin(), tensor.codes.span().end()};
  const tq::StoredParameters stored = examples::stored(tensor);
  switch (part.kind) {
    case PartKind::tensor_scale:
    case PartKind::block_scales: return float_bytes(stored.scales.factors);
    case PartKind::scale_offset: return float_bytes({&stored.scales.offset, 1});
    case PartKind::zero_points: return zero_point_bytes(stored.zero_points, part.dtype);
    case PartKind::offsets: return scale_bytes(stored.offsets, part.dtype);
    default: return scale_bytes(stored.scales, part.dtype);
  }
}

void set_part(tq::StoredParameters& parameters, const StoredPart& part, tq::io::Tensor&& stored) {
  switch (part.kind) {
    case PartKind::codes: break;  // not among them
    case PartKind::scales: set_scales(parameters.scales, stored); break;
    case PartKind::offsets: set_scales(parameters.offsets, stored); break;
    case PartKind::tensor_scale:
    case PartKind::block_scales: parameters.scales.factors = tq::io::values<float>(stored); break;
    case PartKind::scale_offset:
      parameters.scales.offset = tq::io::values<float>(stored).at(0);
      break;
    case PartKind::zero_points:
      for (const float z : tq::io::to_float32(stored))
        parameters.zero_points.push_back(static_cast<std::int32_t>(z));  // at most 16 bits: exact
      break;
  }
}

}  // namespace tool

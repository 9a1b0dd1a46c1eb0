// SPDX-License-Identifier: MIT
#pragma once
// The bytes of the parts of a quantized tensor, and the way back from them.

#include <tq/containers/dtype.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/files/little_endian.hpp>
#include <tq/scheme/encoded_layout.hpp>
#include <tq/scheme/stored_parameters.hpp>
#include <tq/scheme/type_list.hpp>
#include <tq/store/stored_parts.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tq::store {

namespace detail {

// Integers as T, little-endian.
template <class T, class From>
[[nodiscard]] std::vector<std::byte> narrowed(const std::vector<From>& values) {
  std::vector<T> out;
  out.reserve(values.size());
  for (const From v : values) out.push_back(static_cast<T>(v));
  return io::from_values<T>("", {out.size()}, out).bytes;
}

[[nodiscard]] inline std::vector<std::byte> float_bytes(std::span<const float> values) {
  return io::from_values<float>("", {values.size()}, values).bytes;
}

[[nodiscard]] inline std::vector<std::byte> scale_bytes(const StoredScales& scales,
                                                        io::DType dtype) {
  if (dtype == io::DType::f32) return float_bytes(scales.factors);
  return bits(dtype) == 8 ? narrowed<std::uint8_t>(scales.codes)
                          : narrowed<std::uint16_t>(scales.codes);
}

[[nodiscard]] inline std::vector<std::byte> zero_point_bytes(
    const std::vector<std::int32_t>& zero_points, io::DType dtype) {
  switch (dtype) {
    case io::DType::i8: return narrowed<std::int8_t>(zero_points);
    case io::DType::u8: return narrowed<std::uint8_t>(zero_points);
    case io::DType::i16: return narrowed<std::int16_t>(zero_points);
    default: return narrowed<std::uint16_t>(zero_points);
  }
}

inline void set_scales(StoredScales& scales, const io::Tensor& stored) {
  if (stored.dtype == io::DType::f32) {
    scales.factors = io::values<float>(stored);
  } else if (bits(stored.dtype) == 8) {
    for (const std::byte b : stored.bytes)
      scales.codes.push_back(std::to_integer<std::uint16_t>(b));
  } else {
    for (std::size_t i = 0; i < stored.bytes.size(); i += 2)
      scales.codes.push_back(io::load_le<std::uint16_t>(stored.bytes.data() + i));
  }
}

}  // namespace detail

/// The bytes of a part of `tensor` other than its codes. Precondition: the tensor has what the part
/// stores.
[[nodiscard]] inline std::vector<std::byte> part_bytes(const EncodedTensor& tensor,
                                                       const StoredPart& part) {
  const StoredParameters stored = stored_parameters<all_scales>(tensor);
  switch (part.kind) {
    case PartKind::codes: break;  // not among them
    case PartKind::scales: return detail::scale_bytes(stored.scales, part.dtype);
    case PartKind::tensor_scale:
    case PartKind::block_scales: return detail::float_bytes(stored.scales.factors);
    case PartKind::scale_offset: return detail::float_bytes({&stored.scales.offset, 1});
    case PartKind::zero_points: return detail::zero_point_bytes(stored.zero_points, part.dtype);
    case PartKind::offsets: return detail::scale_bytes(stored.offsets, part.dtype);
  }
  return {};
}

/// Puts a stored part of the parameters, whose type and shape are those of `part`, where it
/// belongs.
inline void set_part(StoredParameters& parameters, const StoredPart& part,
                     const io::Tensor& stored) {
  switch (part.kind) {
    case PartKind::codes: break;  // not among them
    case PartKind::scales: detail::set_scales(parameters.scales, stored); break;
    case PartKind::offsets: detail::set_scales(parameters.offsets, stored); break;
    case PartKind::tensor_scale:
    case PartKind::block_scales: parameters.scales.factors = io::values<float>(stored); break;
    case PartKind::scale_offset:
      parameters.scales.offset = io::values<float>(stored).front();
      break;
    case PartKind::zero_points:
      for (const float z : io::to_float32(stored))
        parameters.zero_points.push_back(static_cast<std::int32_t>(z));  // at most 16 bits: exact
      break;
  }
}

}  // namespace tq::store

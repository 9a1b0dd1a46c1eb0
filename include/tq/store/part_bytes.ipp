// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/store/part_bytes.hpp.

#include <tq/files/little_endian.hpp>
#include <tq/scheme/type_list.hpp>
#include <tq/store/part_bytes.hpp>

#include <span>
#include <utility>

namespace tq::store {

namespace detail {

TQ_API std::vector<std::byte> float_bytes(std::span<const float> values) {
  return io::from_values<float>("", {values.size()}, values).bytes;
}

TQ_API std::vector<std::byte> scale_bytes(const StoredScales& scales, io::DType dtype) {
  if (dtype == io::DType::f32) return float_bytes(scales.factors);
  return bits(dtype) == 8 ? narrowed<std::uint8_t>(scales.codes)
                          : narrowed<std::uint16_t>(scales.codes);
}

TQ_API std::vector<std::byte> zero_point_bytes(const std::vector<std::int32_t>& zero_points,
                                               io::DType dtype) {
  switch (dtype) {
    case io::DType::i8: return narrowed<std::int8_t>(zero_points);
    case io::DType::u8: return narrowed<std::uint8_t>(zero_points);
    case io::DType::i16: return narrowed<std::int16_t>(zero_points);
    default: return narrowed<std::uint16_t>(zero_points);
  }
}

TQ_API void set_scales(StoredScales& scales, const io::Tensor& stored) {
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

TQ_API std::vector<std::byte> part_bytes(const EncodedTensor& tensor, const StoredPart& part) {
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

TQ_API void set_part(StoredParameters& parameters, const StoredPart& part,
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

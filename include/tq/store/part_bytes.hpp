// SPDX-License-Identifier: MIT
#pragma once
// The bytes of the parts of a quantized tensor, and the way back from them.

#include <tq/bodies.hpp>
#include <tq/containers/dtype.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/scheme/encoded_layout.hpp>
#include <tq/scheme/stored_parameters.hpp>
#include <tq/store/stored_parts.hpp>

#include <cstddef>
#include <cstdint>
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

[[nodiscard]] TQ_API std::vector<std::byte> scale_bytes(const StoredScales& scales,
                                                        io::DType dtype);

[[nodiscard]] TQ_API std::vector<std::byte> zero_point_bytes(
    const std::vector<std::int32_t>& zero_points, io::DType dtype);

TQ_API void set_scales(StoredScales& scales, const io::Tensor& stored);

}  // namespace detail

/// The bytes of a part of `tensor` other than its codes. Precondition: the tensor has what the part
/// stores.
[[nodiscard]] TQ_API std::vector<std::byte> part_bytes(const EncodedTensor& tensor,
                                                       const StoredPart& part);

/// Puts a stored part of the parameters, whose type and shape are those of `part`, where it
/// belongs.
TQ_API void set_part(StoredParameters& parameters, const StoredPart& part,
                     const io::Tensor& stored);

}  // namespace tq::store

#ifndef TQ_FILE_LIBRARY
#include <tq/store/part_bytes.ipp>
#endif

// SPDX-License-Identifier: MIT
#pragma once
// byte_weights_of: encoded tensors, as they come from files, as weights of integer layers.

#include <tq/core/element.hpp>
#include <tq/core/element_lists.hpp>
#include <tq/error.hpp>
#include <tq/linear/byte_weights.hpp>
#include <tq/model/detail/weight_parts.hpp>
#include <tq/ops/backend/backend.hpp>
#include <tq/scheme/encoded_layout.hpp>
#include <tq/scheme/type_list.hpp>

namespace tq {

/// The integer elements whose codes are bytes in memory.
using byte_integers = TypeList<int2, int3, int4, int5, int6, int7, int8, uint2, uint3, uint4, uint5,
                               uint6, uint7, uint8, ternary>;

/// The weights for `PackedWeights`, `QuantizedLinear` and the convolutions, bit for bit as from the
/// static type of `tensor`. Its first axis counts outputs; parameters are per tensor or for each
/// output.
///
///     const tq::QuantizedLinear layer(tq::byte_weights_of(tensor), bias);
///
/// Throws: `errc::unsupported` for other schemes, with what is supported; as `decode`.
template <class Types = byte_integers, class ScaleTypes = all_scales, Backend B = default_backend>
[[nodiscard]] ByteWeights byte_weights_of(const EncodedTensor& tensor) {
  const detail::WeightParts<Types, ScaleTypes, B> parts("tq::byte_weights_of", tensor);
  if (!ByteWeights::takes(tensor.shape, parts.block()))
    detail::raise_expected(errc::unsupported, "tq::byte_weights_of",
                           {"a scheme with one parameter, or one for each output"},
                           {to_string(tensor.spec), " for shape ", tensor.shape.extents()});
  return parts.with_codes([&](auto codes) {
    return ByteWeights(codes, tensor.shape, parts.block(), parts.scales(), parts.zero_points());
  });
}

}  // namespace tq

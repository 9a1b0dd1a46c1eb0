// SPDX-License-Identifier: MIT
#pragma once
// use_float_scales: scales and offsets of an encoded tensor as float32.

#include <tq/core/scales.hpp>
#include <tq/scheme/encoded_layout.hpp>
#include <tq/scheme/quant_spec.hpp>

namespace tq {

/// Stores the scales of `tensor`, and its offsets, as the float32 numbers that they stand for, for
/// programs and files that do not know their type. Codes and values stay the same. Precondition:
/// `tensor` is no cast, which has no scales.
inline void use_float_scales(EncodedTensor& tensor) {
  tensor.scales = Scales<float>(tensor.scales.values());
  if (!tensor.offsets.empty()) tensor.offsets = Scales<float>(tensor.offsets.values());
  tensor.spec.scale_type = scale_type_name<float>;
}

}  // namespace tq

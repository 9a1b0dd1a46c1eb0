// SPDX-License-Identifier: MIT
#pragma once
// check_encoded: whether the parts of a quantized tensor are those of its scheme.

#include <tq/core/detail/require_parameters.hpp>
#include <tq/scheme/encoded_layout.hpp>
#include <tq/scheme/stored_parameters.hpp>

#include <cstddef>

namespace tq::store::detail {

// Throws unless the scheme is one of these types and has parameters and `bytes` of codes as it
// should.
template <class Types, class ScaleTypes>
void check_encoded(const EncodedTensor& tensor, const EncodedLayout& layout, std::size_t bytes) {
  validate_encoding<Types, ScaleTypes>(tensor.spec);
  tq::detail::require_count("bytes of codes", layout.code_bytes, bytes, tensor);
  tq::detail::require_parameters<Types, ScaleTypes>(tensor, layout);
}

// The same for types that were chosen.
using CheckEncoded = void (*)(const EncodedTensor&, const EncodedLayout&, std::size_t bytes);

}  // namespace tq::store::detail

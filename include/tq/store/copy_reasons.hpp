// SPDX-License-Identifier: MIT
#pragma once
// The reasons why a tensor of a model is copied, and not quantized.

#include <tq/bodies.hpp>
#include <tq/scheme/encoded_layout.hpp>
#include <tq/store/model_contents.hpp>
#include <tq/store/stored_tensor.hpp>

#include <string>

namespace tq::store {

/// The reason why a tensor cannot be quantized, or empty. A weight that another program quantized
/// can be with `requantize` only.
[[nodiscard]] TQ_API std::string no_weight(const StoredTensor& tensor, bool requantize);

/// "1-D" for a tensor that has fewer axes than a matrix, else empty.
[[nodiscard]] TQ_API std::string too_few_axes(const StoredTensor& tensor);

/// "kind head" for a tensor of a kind that configurations leave in float, else empty.
[[nodiscard]] TQ_API std::string kept_kind(const StoredTensor& tensor);

/// The reason why a tensor is not quantized in a scheme that takes more bits than it has, or empty.
[[nodiscard]] TQ_API std::string growth(const StoredTensor& tensor, const EncodedLayout& layout);

/// Throws: `errc::bad_argument` where tq quantized a tensor of the model. `file` is its name.
TQ_API void require_unquantized(const ModelContents& model, const std::string& file);

}  // namespace tq::store

#ifndef TQ_FILE_LIBRARY
#include <tq/store/copy_reasons.ipp>
#endif

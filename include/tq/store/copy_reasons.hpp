// SPDX-License-Identifier: MIT
#pragma once
// The reasons why a tensor of a model is copied, and not quantized.

#include <tq/error.hpp>
#include <tq/model/node_kind.hpp>
#include <tq/scheme/encoded_layout.hpp>
#include <tq/store/model_contents.hpp>
#include <tq/store/stored_tensor.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

namespace tq::store {

/// The reason why a tensor cannot be quantized, or empty. A weight that another program quantized
/// can be with `requantize` only.
[[nodiscard]] inline std::string no_weight(const StoredTensor& tensor, bool requantize) {
  if (!tensor.left_alone.empty()) return tensor.left_alone;
  if (!tensor.blocks.empty()) return requantize ? "" : "quantized: " + tensor.scheme();
  if (!tensor.foreign) return is_quantizable(tensor.dtype) ? "" : "not float";
  return requantize ? "" : "quantized: " + tensor.foreign->scheme;
}

/// "1-D" for a tensor that has fewer axes than a matrix, else empty.
[[nodiscard]] inline std::string too_few_axes(const StoredTensor& tensor) {
  const std::size_t rank = tensor.shape.size();
  return rank < 2 ? std::to_string(rank) + "-D" : "";
}

/// "kind head" for a tensor of a kind that configurations leave in float, else empty.
[[nodiscard]] inline std::string kept_kind(const StoredTensor& tensor) {
  const auto& kept = default_float_kinds;
  const bool is_kept = std::find(kept.begin(), kept.end(), tensor.kind) != kept.end();
  return is_kept ? "kind " + std::string(to_string(tensor.kind)) : "";
}

/// The reason why a tensor is not quantized in a scheme that takes more bits than it has, or empty.
[[nodiscard]] inline std::string growth(const StoredTensor& tensor, const EncodedLayout& layout) {
  if (tensor.elements() == 0 || layout.bytes() <= tensor.plain_bytes()) return "";
  const auto bits = [&](std::uint64_t bytes) {
    char text[32];
    std::snprintf(text, sizeof text, "%.4g",
                  8 * static_cast<double>(bytes) / static_cast<double>(tensor.elements()));
    return std::string(text);
  };
  return "would grow from " + bits(tensor.plain_bytes()) + " to " + bits(layout.bytes()) +
         " bits a weight";
}

/// Throws: `errc::bad_argument` where tq quantized a tensor of the model. `file` is its name.
inline void require_unquantized(const ModelContents& model, const std::string& file) {
  if (model.is_quantized())
    tq::detail::raise_expected(errc::bad_argument, file, {"a model that is not quantized yet"},
                               {"one quantized by tq; tq dequantize turns it back"});
}

}  // namespace tq::store

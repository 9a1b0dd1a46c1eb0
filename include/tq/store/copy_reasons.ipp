// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/store/copy_reasons.hpp.

#include <tq/error.hpp>
#include <tq/model/node_kind.hpp>
#include <tq/store/copy_reasons.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace tq::store {

TQ_API std::string no_weight(const StoredTensor& tensor, bool requantize) {
  if (!tensor.left_alone.empty()) return tensor.left_alone;
  if (!tensor.blocks.empty()) return requantize ? "" : "quantized: " + tensor.scheme();
  if (!tensor.foreign) return is_quantizable(tensor.dtype) ? "" : "not float";
  return requantize ? "" : "quantized: " + tensor.foreign->scheme;
}

TQ_API std::string too_few_axes(const StoredTensor& tensor) {
  const std::size_t rank = tensor.shape.size();
  return rank < 2 ? std::to_string(rank) + "-D" : "";
}

TQ_API std::string kept_kind(const StoredTensor& tensor) {
  const auto& kept = default_float_kinds;
  const bool is_kept = std::find(kept.begin(), kept.end(), tensor.kind) != kept.end();
  return is_kept ? "kind " + std::string(to_string(tensor.kind)) : "";
}

TQ_API std::string growth(const StoredTensor& tensor, const EncodedLayout& layout) {
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

TQ_API void require_unquantized(const ModelContents& model, const std::string& file) {
  if (model.is_quantized())
    tq::detail::raise_expected(errc::bad_argument, file, {"a model that is not quantized yet"},
                               {"one quantized by tq; tq dequantize turns it back"});
}

}  // namespace tq::store

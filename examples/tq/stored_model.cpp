// SPDX-License-Identifier: MIT
#include "stored_model.hpp"

#include <tq/model/node_kind.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>

namespace tool {

using tq::errc;

std::string no_weight(const StoredTensor& tensor, bool requantize) {
  if (!tensor.left_alone.empty()) return tensor.left_alone;
  if (!tensor.foreign) return is_quantizable(tensor.dtype) ? "" : "not float";
  return requantize ? "" : "quantized: " + tensor.foreign->scheme;
}

std::string too_few_axes(const StoredTensor& tensor) {
  const std::size_t rank = tensor.shape.size();
  return rank < 2 ? std::to_string(rank) + "-D" : "";
}

std::string kept_kind(const StoredTensor& tensor) {
  const auto& kept = tq::default_float_kinds;
  const bool is_kept = std::find(kept.begin(), kept.end(), tensor.kind) != kept.end();
  return is_kept ? "kind " + std::string(to_string(tensor.kind)) : "";
}

std::string growth(const StoredTensor& tensor, const tq::EncodedLayout& layout) {
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

tq::QuantSpec spec_for(const tq::QuantSpec& spec, const StoredTensor& tensor) {
  return tq::spec_for(spec, tensor.shape, tensor.axes);
}

void require_unquantized(const StoredModel& model, const std::string& file) {
  if (model.is_quantized())
    throw tq::error(errc::bad_argument,
                    file +
                        ": expected a model that is not quantized yet, got one quantized by tq; "
                        "tq dequantize turns it back");
}

void out_of_memory(const StoredTensor& tensor) {
  throw tq::error(errc::unsupported, "tensor " + tq::io::shown(tensor.name) +
                                         ": expected memory for " +
                                         std::string(to_string(tensor.dtype)) + " " +
                                         tq::io::shape_text(tensor.shape) + ", " +
                                         std::to_string(tensor.plain_bytes()) +
                                         " bytes, and for what is made of it, got too little");
}

}  // namespace tool

template class tq::BasicStoredModel<>;

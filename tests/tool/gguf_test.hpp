// SPDX-License-Identifier: MIT
#pragma once
// GGUF files of floats.

#include <tq/containers/gguf_writer.hpp>

#include "tool_test.hpp"

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace tool_test {

// Writes float32 tensors of noise.
inline void write_noise_gguf(const std::string& path,
                             const std::vector<tq::io::GgufTensorDecl>& tensors,
                             const std::vector<tq::io::GgufEntry>& entries = {
                                 {"general.architecture", std::string("llama")}}) {
  tq::io::GgufWriter writer(path, entries, tensors);
  for (const auto& t : writer.order()) {
    const std::vector<float> values = noise(static_cast<std::size_t>(t.size_bytes) / sizeof(float));
    writer.append(t.name, std::as_bytes(std::span(values)));
  }
  writer.finish();
}

// Weights "blk.0.ffn_up.weight" and so on, of rows(i) rows.
inline std::vector<tq::io::GgufTensorDecl> ffn_weights(
    std::size_t n, std::size_t columns, const std::function<std::size_t(std::size_t)>& rows) {
  std::vector<tq::io::GgufTensorDecl> tensors;
  for (std::size_t i = 0; i < n; ++i)
    tensors.push_back({"blk." + std::to_string(i) + ".ffn_up.weight",
                       tq::layouts::gguf::Type::f32,
                       {rows(i), columns}});
  return tensors;
}

}  // namespace tool_test

// SPDX-License-Identifier: MIT
#pragma once
// A checkpoint in memory, and what its one weight and a layer of it must be.

#include <tq/checkpoints/checkpoint_layers.hpp>
#include <tq/checkpoints/decode_checkpoint.hpp>
#include <tq/checkpoints/quantized_checkpoint.hpp>
#include <tq/linear/grouped_linear.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"

namespace checkpoint_test {

using tq::io::DType;
using Extents = std::vector<std::size_t>;

inline tq::io::TensorInfo info(const std::string& name, DType dtype, const Extents& shape) {
  return {name, dtype, shape, 0, *tq::io::storage_bytes(dtype, shape)};
}

/// The weights among tensors of which none may be read.
inline tq::io::QuantizedCheckpoint find(const std::vector<tq::io::TensorInfo>& tensors,
                                        const tq::io::CheckpointHints& hints = {}) {
  return tq::io::find_quantized(
      tensors, [](const std::string& name) -> tq::io::Tensor { throw std::runtime_error(name); },
      hints);
}

/// A file in memory.
struct File {
  std::map<std::string, tq::io::Tensor> tensors;
  tq::io::CheckpointHints hints;

  void add(tq::io::Tensor t) { tensors[t.name] = std::move(t); }
  template <class T>
  void add(const std::string& name, Extents shape, const std::vector<T>& values) {
    add(tq::io::from_values<T>(name, std::move(shape), std::span<const T>(values)));
  }
  /// Bytes as a type of one byte.
  void add(const std::string& name, Extents shape, DType dtype,
           const std::vector<std::uint8_t>& bytes) {
    auto t = tq::io::from_values<std::uint8_t>(name, std::move(shape), bytes);
    t.dtype = dtype;
    add(std::move(t));
  }
  [[nodiscard]] tq::io::ReadTensor reader() const {
    return [this](const std::string& name) { return tensors.at(name); };
  }
  /// The one weight of the file.
  [[nodiscard]] tq::io::CheckpointWeight weight() const {
    std::vector<tq::io::TensorInfo> list;
    for (const auto& [name, t] : tensors) list.push_back(info(name, t.dtype, t.shape));
    const auto found = tq::io::find_quantized(list, reader(), hints);
    for (const auto& [name, left] : found.left_alone) UNSCOPED_INFO(name << ": " << left.reason);
    REQUIRE(found.weights.size() == 1);
    return found.weights[0];
  }
  [[nodiscard]] tq::CheckpointTensor load() const {
    return tq::io::load_checkpoint(weight(), reader());
  }
  [[nodiscard]] std::vector<float> values() const {
    return tq::io::decode_checkpoint(weight(), reader());
  }
};

/// E4M3 without a sign, and no NaN: four bits of exponent, three of significand.
inline float oracle_e4m3(std::uint8_t code) {
  const int e = code >> 3, m = code & 7;
  return e == 0 ? std::ldexp(static_cast<float>(m), -9)
                : std::ldexp(static_cast<float>(8 + m), e - 10);
}

/// Checks a layer of the weight on floats against products of its values in double.
inline void check_layer(const tq::CheckpointTensor& weight) {
  const std::size_t n = weight.tensor.shape[0], k = weight.tensor.shape[1];
  constexpr std::size_t rows = 3;
  inputs::Random r(91);
  std::vector<float> x(rows * k), y(rows * n);
  for (float& v : x) v = static_cast<float>(r.normal());
  const std::vector<float> values = decode(weight);
  const tq::GroupedLinear<tq::FloatActivations> layer(tq::grouped_weights_of(weight));
  const std::vector<float> ordered =
      tq::activations_of(weight, tq::ConstTensorView(x.data(), {rows, k}));
  layer.forward(tq::ConstTensorView(ordered.data(), {rows, k}),
                tq::TensorView<float>(y.data(), {rows, n}));
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0, magnitude = 0;
      for (std::size_t c = 0; c < k; ++c) {
        const double term = double{x[i * k + c]} * double{values[j * k + c]};
        sum += term;
        magnitude += std::abs(term);
      }
      INFO("row " << i << ", output " << j);
      REQUIRE(std::abs(double{y[i * n + j]} - sum) <= 1e-6 * magnitude);
    }
}

}  // namespace checkpoint_test

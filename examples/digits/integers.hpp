// SPDX-License-Identifier: MIT
#pragma once
// Networks that compute in integers: int8 codes are multiplied by int8 weights. Beside each, the
// same network in floats, fake quantized.

#include "network.hpp"
#include "quantized.hpp"

#include <tq/linear/quantized_conv2d.hpp>
#include <tq/linear/quantized_linear.hpp>

#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

/// The codes that enter each layer, and the logits.
struct Run {
  std::vector<std::vector<std::int8_t>> codes;
  Matrix logits;
};

/// One scale and zero point for the inputs of each layer, known before: the sums of a layer become
/// the codes that the next one takes, and no float is seen between.
class StaticIntegers {
 public:
  /// `inputs`: the parameters of every layer's input. Batch norms become part of the weights.
  /// Throws: tq::error.
  StaticIntegers(const Network& net, const std::vector<Activations>& inputs);

  [[nodiscard]] Run forward(const Matrix& images) const;
  /// In floats: every layer multiplies what its codes stand for, and quantizes the result.
  [[nodiscard]] Run fake_quantized(const Matrix& images) const;

 private:
  using In = tq::StaticActivation<Activations>;
  using Out = tq::CodeOutput<Activations>;
  using IntegerLayer = std::variant<tq::QuantizedConv2d<In, Out>, tq::QuantizedLinear<In, Out>>;

  std::vector<Activations> inputs_;
  std::vector<IntegerLayer> hidden_;
  std::vector<tq::QuantizedLinear<In>> last_;  // one
  Network fake_;
};

/// A scale for every image at every layer, which its values have when they come: layers take and
/// give floats.
class DynamicIntegers {
 public:
  /// Throws: tq::error.
  explicit DynamicIntegers(const Network& net);

  [[nodiscard]] Run forward(const Matrix& images) const;
  [[nodiscard]] Run fake_quantized(const Matrix& images) const;

 private:
  using IntegerLayer = std::variant<tq::QuantizedConv2d<>, tq::QuantizedLinear<>>;

  std::vector<IntegerLayer> layers_;
  Network fake_;
};

// SPDX-License-Identifier: MIT
#pragma once
// A network that computes in integers: int8 codes go in, are multiplied by int8 weights, and the
// sums become the codes that the next layer takes.

#include "network.hpp"
#include "quantized.hpp"

#include <tq/linear/output_stage.hpp>
#include <tq/linear/packed_filters.hpp>
#include <tq/linear/packed_weights.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

/// The codes that enter each layer, and the logits.
struct Run {
  std::vector<std::vector<std::int8_t>> codes;
  Matrix logits;
};

class IntegerNetwork {
 public:
  /// `inputs`: the parameters of every layer's input. Batch norms become part of the weights.
  /// Throws: tq::error.
  IntegerNetwork(const Network& net, const std::vector<Activations>& inputs);

  [[nodiscard]] Run forward(const Matrix& images) const;
  /// The same in floats: every layer multiplies what its codes stand for, and quantizes the result.
  [[nodiscard]] Run fake_quantized(const Matrix& images) const;

 private:
  struct IntegerLayer {
    Index side, outputs;  // a side of 0: no convolution
    bool relu;
    Activations input;
    std::vector<std::int8_t> codes;  // of the weights, [outputs, inputs]
    std::vector<float> scales;       // of the weights, one an output
    std::vector<std::int32_t> bias;  // in steps of the sums
    std::optional<tq::PackedWeights> weights;
    std::optional<tq::PackedFilters> filters;
    std::optional<tq::OutputStage<>> stage;  // none of the last layer

    [[nodiscard]] std::size_t inputs() const {
      return codes.size() / static_cast<std::size_t>(outputs);
    }
    [[nodiscard]] double step(std::size_t output) const;  // what 1 of a sum stands for
  };
  void multiply(const IntegerLayer& layer, const std::vector<std::int8_t>& x, std::size_t images,
                std::vector<std::int8_t>& out) const;

  std::vector<IntegerLayer> layers_;
};

// SPDX-License-Identifier: MIT
#pragma once
// A language model quantized layer by layer, each with the inputs that the layers before, which are
// quantized already, give it.

#include "stories/model.hpp"

#include <tq/scheme/quant_spec.hpp>
#include <tq/scheme/weight_algorithm.hpp>

#include <cstddef>
#include <string>
#include <vector>

using Texts = std::vector<std::vector<int>>;

/// Texts that the model writes itself: each token is drawn by its probability. None is of any data
/// set, so that no text to judge by can leak.
Texts written_by(const Model& model, int first, unsigned seed, std::size_t texts,
                 std::size_t length);

/// How codes are chosen.
struct Method {
  std::string name;
  tq::WeightAlgorithm algorithm;
  bool is_corrected = false;  // to the outputs of the float model
};

/// The model whose matrices, but not its embedding, went through a scheme. Throws: tq::error.
Model quantized(const Model& model, const tq::QuantSpec& spec, const Method& method,
                const Texts& texts);

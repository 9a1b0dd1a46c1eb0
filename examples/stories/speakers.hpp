// SPDX-License-Identifier: MIT
#pragma once
// The model as it computes: in floats, or with integers in all its layers.

#include "model.hpp"

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

/// A model of one kind of weights and activations.
struct Speaker {
  std::string weights, activations;
  std::size_t bytes = 0;  // codes and scales of matrices and embedding
  double tolerance = 0;   // how far its loss may be above that of float32
  std::function<Matrix(std::span<const int>)> logits;                 // of `logits_of`
  std::function<std::vector<int>(int first, std::size_t)> continued;  // of `tell`
};

/// The float model, which must outlive them, first; then its matrices as int8 with a scale for each
/// output, and as int4 with one for every 32 inputs, both with activations that become int8 row by
/// row when they come. Rows of the embedding are looked up in 8 bits. Attention and norms stay
/// float. Throws: tq::error.
std::vector<Speaker> speakers(const Model& model);

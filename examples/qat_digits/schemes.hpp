// SPDX-License-Identifier: MIT
#pragma once
// The trained schemes: weights and activations of some types, each by the gradient of some policy.

#include "quantizer.hpp"

#include <memory>
#include <vector>

/// Quantizer of weight matrices: a scale per output channel. Defined for the types in weights.cpp.
template <class Type, class Gradient>
std::unique_ptr<Quantizer> weights();

/// Quantizer of the inputs of a layer: one scale. Defined for the types in activations.cpp.
template <class Type, class Gradient>
std::unique_ptr<Quantizer> activations();

struct Scheme {
  std::unique_ptr<Quantizer> (*weights)();
  std::unique_ptr<Quantizer> (*activations)();
  bool quick = false;   // part of the short run
  bool stored = false;  // the CNN by it is written to a file; int4 weights
};

/// The rows of the table, with rows of the same types next to each other.
std::vector<Scheme> schemes();

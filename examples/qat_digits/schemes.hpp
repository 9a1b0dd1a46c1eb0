// SPDX-License-Identifier: MIT
#pragma once
// What is trained: weights and activations of some types, each by the gradient of some policy.

#include "quantizer.hpp"

#include <memory>
#include <vector>

/// Of weight matrices: one scale per output channel. Defined for what weights.cpp lists.
template <class Type, class Gradient>
std::unique_ptr<Quantizer> weights();

/// Of what enters a layer: one scale. Defined for what activations.cpp lists.
template <class Type, class Gradient>
std::unique_ptr<Quantizer> activations();

struct Scheme {
  std::unique_ptr<Quantizer> (*weights)();
  std::unique_ptr<Quantizer> (*activations)();
  bool quick = false;   // part of the short run
  bool stored = false;  // the CNN by it is written to a file; int4 weights
};

/// The rows of the table, those of the same types next to each other.
std::vector<Scheme> schemes();

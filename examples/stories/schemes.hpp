// SPDX-License-Identifier: MIT
#pragma once
// The schemes of the table, and a model whose weights went through one of them.

#include "model.hpp"

#include <tq/scheme/quant_spec.hpp>

#include <cstddef>
#include <string>
#include <vector>

struct Scheme {
  std::string name;
  tq::QuantSpec spec;
  bool quick = false;  // part of the short table
};

/// The rows of the table.
std::vector<Scheme> schemes();

struct Compressed {
  Model model;
  std::size_t matrix_bytes = 0;  // codes, scales and zero points
};

/// Replaces every weight of the matrices by what its stored code stands for. Throws: tq::error.
Compressed compressed(const Model& model, const tq::QuantSpec& spec);

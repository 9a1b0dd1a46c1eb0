// SPDX-License-Identifier: MIT
#pragma once
// GgufMeasurement: the weights of a model in the types of GGUF files, to choose from.

#include <tq/layouts/gguf/type.hpp>
#include <tq/select/precision_model.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace tq {

/// The result of `measure_gguf`. Vectors beside `weights` have an element for each of its nodes.
struct GgufMeasurement {
  /// A node for each weight, by its name in the file. Schemes are names of types ("q4_K"), and
  /// bytes are those in the file, with padding. The mean error of all nodes is
  /// sum d^2 / sum w^2 over all weights of the model.
  PrecisionModel weights;
  std::vector<layouts::gguf::Type> kept{};  ///< the type that `float_scheme` stands for
  /// Errors are `shares` times sum d^2 / sum w^2 of the weight, with squares times the importance
  /// of the input where there is one.
  std::vector<double> shares{};
  std::uint64_t other_bytes = 0;  ///< header with all keys, other tensors and their padding
  std::vector<std::string> dropped{}, notes{};  ///< as in `GgufReport`
};

}  // namespace tq

// SPDX-License-Identifier: MIT
#pragma once
// ModelLayer: a linear layer of a model, and the place of its matrix in a tensor of the file.

#include <tq/config.hpp>

#include <cstddef>
#include <string>

namespace tq::io {

/// Where element (output, input) of a matrix, or of a stack of matrices, is in its tensor.
struct MatrixPlace {
  std::size_t first = 0;          ///< element (0, 0)
  std::size_t output_stride = 0;  ///< elements from an output to the next
  std::size_t input_stride = 1;
  std::size_t expert_stride = 0;  ///< of a stack

  /// True for rows that follow one another without gaps.
  [[nodiscard]] bool is_dense(std::size_t inputs) const noexcept {
    return input_stride == 1 && output_stride == inputs;
  }
};

/// A linear layer of a model.
struct ModelLayer {
  std::string module;  ///< "model.layers.0.mlp.experts.3.up_proj"
  std::string tensor;  ///< that has its matrix
  std::size_t outputs = 0, inputs = 0;
  std::size_t experts = 0;  ///< above 0: a stack of as many matrices
  MatrixPlace place{};
  std::string set{};        ///< layers of a set get one scheme, or all stay in float
  std::string scale_set{};  ///< layers of a set that share a global scale
};

/// A module with a matrix that stays in float.
struct LeftModule {
  std::string module;
  std::string reason;
};

}  // namespace tq::io

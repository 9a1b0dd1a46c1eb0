// SPDX-License-Identifier: MIT
#pragma once
// WrittenModel: the layers of a model that was quantized, for its configuration.

#include <tq/containers/dtype.hpp>

#include <string>
#include <vector>

namespace tq::io {

/// The layers of a model in another program's format, as its configuration lists them.
struct WrittenModel {
  std::vector<std::string> quantized;  ///< modules with codes, in the order of the files
  /// Linear layers that stay floats, by module; "lm_head" is among them even where it is tied.
  std::vector<std::string> left;
  std::string model_type;     ///< of config.json: "llama"
  DType dtype = DType::bf16;  ///< the type of its floats
  /// True where experts stay floats that are tensors of their own, and no stack.
  bool has_float_experts = false;
};

}  // namespace tq::io

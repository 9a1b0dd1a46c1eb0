// SPDX-License-Identifier: MIT
#pragma once
// OtherMember: what a container holds beside its tensors.

#include <tq/containers/raw_tensor.hpp>

#include <optional>
#include <string>

namespace tq::io {

/// A member of a file that is no tensor, or of a type that is not read: text, objects, folders.
struct OtherMember {
  std::string name;
  std::string reason;              ///< what was expected, and what it is
  std::optional<RawTensor> raw{};  ///< of a tensor of safetensors, which can be copied
  bool is_weight = false;          ///< a tensor whose values are not understood
};

}  // namespace tq::io

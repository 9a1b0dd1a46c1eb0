// SPDX-License-Identifier: MIT
#pragma once
// Shard: one of the files that a model is stored in.

#include <tq/containers/safetensors_header.hpp>

#include <cstddef>
#include <string>

namespace tq::io {

/// One of the files of a model, and which of all its tensors are in it.
struct Shard {
  std::string name;       ///< of the file, relative to the index that names it
  Metadata metadata;      ///< its text pairs
  std::size_t first = 0;  ///< its first tensor, among those of the model
  std::size_t count = 0;  ///< how many of them follow one another
};

}  // namespace tq::io

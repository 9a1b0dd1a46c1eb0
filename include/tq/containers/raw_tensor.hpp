// SPDX-License-Identifier: MIT
#pragma once
// RawTensor: a tensor of a type that is not read.

#include <tq/config.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tq::io {

/// A tensor whose type has no `DType`: its bytes can be copied, and not be understood. What its
/// shape takes is not known, so its size is what the file says, within a layout that is checked.
struct RawTensor {
  std::string dtype;  ///< as the file has it
  std::vector<std::size_t> shape;
  std::uint64_t size_bytes = 0;
  std::uint64_t offset = 0;  ///< in the file
  std::size_t shard = 0;     ///< which of the files of a model has it
};

}  // namespace tq::io

// SPDX-License-Identifier: MIT
#pragma once
// Formats of other programs, made of the options of tq quantize.

#include "commands.hpp"

#include <tq/checkpoints/format/compressed_tensors.hpp>

#include <cstddef>
#include <string>

namespace tool {

// The number in the name of a type: 4 of "int4".
[[nodiscard]] inline int bits_of(const std::string& type) { return std::stoi(type.substr(3)); }

// Calls f(format) with the format of a choice that is resolved.
template <class F>
auto with_format(const CheckpointChoice& choice, F&& f) {
  const std::size_t groups = choice.group_size.value_or(128);
  const bool is_symmetric = choice.is_symmetric.value_or(true);
  return f(tq::format::compressed_tensors{choice.type, groups, is_symmetric});
}

}  // namespace tool

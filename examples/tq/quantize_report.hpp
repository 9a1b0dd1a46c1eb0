// SPDX-License-Identifier: MIT
#pragma once
// What tq quantize says when it is done.

#include "commands.hpp"
#include "quantize_plan.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace tool {

// What is to be said beside the tensors.
struct QuantizeNotes {
  // Of an output of several shards, how many a run before this one had finished.
  std::optional<std::size_t> reused{};
  std::vector<std::string> left_behind{};  // files of the folder of the input
};

// A table or a JSON document of all tensors; of many tensors the table has a row for each scheme.
void print_quantize_report(const QuantizePlan& plan, const QuantizeOptions& options,
                           const QuantizeNotes& notes);

}  // namespace tool

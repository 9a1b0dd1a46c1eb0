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

// Facts for the report that no tensor has.
struct QuantizeNotes {
  // The number of shards that an earlier run had finished; nothing for an output of one file.
  std::optional<std::size_t> reused{};
  std::vector<std::string> left_behind{};  // files of the folder of the input
};

// A table or a JSON document of all tensors; of many tensors the table has a row for each scheme.
void print_quantize_report(const QuantizePlan& plan, const QuantizeOptions& options,
                           const QuantizeNotes& notes);

}  // namespace tool

// SPDX-License-Identifier: MIT
#pragma once
// What tq quantize says when it is done.

#include "commands.hpp"
#include "quantize_plan.hpp"

#include <cstddef>
#include <optional>

namespace tool {

// A table or a JSON document of all tensors. `reused`: of an output of several shards, how many a
// run before this one had finished.
void print_quantize_report(const QuantizePlan& plan, const QuantizeOptions& options,
                           std::optional<std::size_t> reused);

}  // namespace tool

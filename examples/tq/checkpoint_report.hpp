// SPDX-License-Identifier: MIT
#pragma once
// Report of tq quantize --format.

#include "commands.hpp"

#include <tq/store/checkpoint_report.hpp>

namespace tool {

// Sizes, the layers that stay in float and why, and the lines that load the folder; or a JSON
// document of it.
void print_checkpoint_report(const tq::CheckpointReport& report, const QuantizeOptions& options);

}  // namespace tool

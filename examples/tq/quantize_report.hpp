// SPDX-License-Identifier: MIT
#pragma once
// The report of tq quantize when it is done.

#include "commands.hpp"

#include <tq/store/conversion_report.hpp>

namespace tool {

// A table or a JSON document of all tensors; of many tensors the table has a row for each scheme.
void print_quantize_report(const tq::ConversionReport& report, const QuantizeOptions& options);

}  // namespace tool

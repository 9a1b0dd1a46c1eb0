// SPDX-License-Identifier: MIT
#pragma once
// The results of weight algorithms, as a table or a document.

#include "commands.hpp"

#include <tq/json/json_text.hpp>
#include <tq/ptq/weight_report.hpp>

#include <string>
#include <utility>
#include <vector>

namespace tool {

// Weights with an algorithm, or its fallback, by name.
using WeightReports = std::vector<std::pair<std::string, tq::WeightReport>>;

[[nodiscard]] tq::io::Json to_json(const tq::WeightReport& report);
// The numbers of weights and of fallbacks, and the sums of losses.
[[nodiscard]] tq::io::Json losses_to_json(const WeightReports& reports);
// A table, and these sums; nothing without weights.
void print_losses(const WeightReports& reports, const Talk& talk);

}  // namespace tool

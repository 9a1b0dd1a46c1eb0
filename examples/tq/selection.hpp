// SPDX-License-Identifier: MIT
#pragma once
// A selection of schemes, of tensors or of layers: its limits, and its report.

#include "commands.hpp"

#include <tq/json/json_text.hpp>
#include <tq/select/precision_selector.hpp>

#include <cstdint>
#include <functional>
#include <string>

namespace tool {

// The goal of the options. Throws: UsageError for names that are unknown, and where the options
// have neither a goal nor a limit.
[[nodiscard]] tq::PrecisionGoal goal_of(const SelectOptions& options);

// Throws: UsageError for limits that are no positive numbers and for an output that is no .json.
void require_sense(const SelectOptions& options);

// The least that a choice can take.
struct LeastSize {
  std::uint64_t bytes, weights;          // of the elements to choose for, in the fewest bits
  std::uint64_t all, rest;               // of the smallest output, and of it beside these elements
  std::string others;                    // what `rest` is of
  std::function<std::string()> reach{};  // the sizes that can be had, for an error
};
// Throws: UsageError for a size that no choice has.
void require_reachable(const SelectOptions& options, const LeastSize& least);

[[nodiscard]] tq::PrecisionCriteria criteria_of(const SelectOptions& options, std::uint64_t kept);

[[nodiscard]] tq::io::Json selected_to_json(const tq::SelectedPrecision& node);
[[nodiscard]] tq::io::Json total_to_json(const tq::PrecisionSelection& selection,
                                         std::uint64_t kept);

// Prints how far from the best the selection may be, where that is known.
void print_proof(const tq::PrecisionSelection& selection, const SelectOptions& options);
// Prints the sums, and where the configuration is. `others`: whose bytes are kept.
void print_summary(const tq::PrecisionSelection& selection, const SelectOptions& options,
                   std::uint64_t kept, const std::string& others);

}  // namespace tool

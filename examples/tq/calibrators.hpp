// SPDX-License-Identifier: MIT
#pragma once
// Calibrators that are chosen at run time: from observers to ranges.

#include "calibrator_options.hpp"
#include "observers.hpp"

#include <tq/model/named_calibrators.hpp>
#include <tq/scheme/quant_spec.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace tool {

using tq::calibrators_for;
using tq::observers_for;

// As tq::chosen_ranges, for every type; what it instantiates is compiled once.
[[nodiscard]] std::vector<tq::Range> chosen_ranges(const AnyObserver& observer,
                                                   const CalibratorOptions& options,
                                                   const tq::QuantSpec& spec,
                                                   std::optional<std::size_t> slot = {});

}  // namespace tool

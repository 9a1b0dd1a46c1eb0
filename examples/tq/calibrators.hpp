// SPDX-License-Identifier: MIT
#pragma once
// Calibrators that are chosen at run time: from observers to ranges.

#include "calibrator_options.hpp"
#include "observers.hpp"

#include <tq/model/quant_spec.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace tool {

[[nodiscard]] const std::vector<std::string>& calibrator_kinds();
// The observers that a calibrator can use, the default first. Throws: errc::unknown_name.
[[nodiscard]] std::vector<std::string> observers_for(const std::string& calibrator);
// The calibrators that can use an observer, the default first. Throws: errc::unknown_name.
[[nodiscard]] std::vector<std::string> calibrators_for(const std::string& observer);

// The range of every slot, or of that one, for the type and symmetry of the spec. Throws:
// errc::no_data where a slot saw nothing; errc::bad_argument for an observer or options that the
// calibrator cannot use.
[[nodiscard]] std::vector<tq::Range> chosen_ranges(const AnyObserver& observer,
                                                   const CalibratorOptions& options,
                                                   const tq::QuantSpec& spec,
                                                   std::optional<std::size_t> slot = {});

}  // namespace tool

// SPDX-License-Identifier: MIT
#include "calibrators.hpp"

#include "commands.hpp"
#include "common/encoding.hpp"

#include <algorithm>

namespace tool {

void require_settings_of(const CalibratorOptions& options,
                         const std::vector<std::string>& calibrators) {
  for (const CalibratorSetting& setting : calibrator_settings)
    if ((options.*setting.value).has_value() &&
        std::find(calibrators.begin(), calibrators.end(), setting.calibrator) == calibrators.end())
      throw UsageError(std::string(setting.option) + ": expected calibrator " + setting.calibrator +
                       ", got " + (calibrators.empty() ? "none" : tq::joined_names(calibrators)));
}

std::vector<tq::Range> chosen_ranges(const AnyObserver& observer, const CalibratorOptions& options,
                                     const tq::QuantSpec& spec, std::optional<std::size_t> slot) {
  return tq::chosen_ranges<examples::Types>(observer, options, spec, slot);
}

}  // namespace tool

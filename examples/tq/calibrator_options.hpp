// SPDX-License-Identifier: MIT
#pragma once
// The settings of calibrators on the command line.

#include <tq/model/calibrator_options.hpp>

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace tool {

using tq::CalibratorOptions;

// A setting on the command line, and the calibrator that it is for.
struct CalibratorSetting {
  const char* option;
  std::optional<double> CalibratorOptions::* value;
  const char* calibrator;
  const char* help;
};
inline constexpr std::array<CalibratorSetting, 5> calibrator_settings{{
    {"--lower", &CalibratorOptions::lower, "percentile",
     "the share of values below the range (default 0.001)"},
    {"--upper", &CalibratorOptions::upper, "percentile",
     "the share of values below its end (default 0.999)"},
    {"--deviations", &CalibratorOptions::deviations, "mean_std",
     "standard deviations to each side of the mean (default 3)"},
    {"--norm", &CalibratorOptions::norm, "lp", "the power of errors that is summed (default 2.4)"},
    {"--count-zeros", &CalibratorOptions::count_zeros, "kl",
     "1: zeros count as TensorRT's published method has it (default 0: they are left out)"},
}};

// Throws: UsageError where a setting was given that none of these calibrators has.
void require_settings_of(const CalibratorOptions& options,
                         const std::vector<std::string>& calibrators);

}  // namespace tool

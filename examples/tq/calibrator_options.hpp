// SPDX-License-Identifier: MIT
#pragma once
// Which calibrator, and how it is set.

#include <optional>
#include <string>

namespace tool {

struct CalibratorOptions {
  std::string name;                    // empty: the one that suits the observer
  std::optional<double> lower, upper;  // of percentile
  std::optional<double> deviations;    // of mean_std
  std::optional<double> norm;          // of lp
};

}  // namespace tool

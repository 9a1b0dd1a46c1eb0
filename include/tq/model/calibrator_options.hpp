// SPDX-License-Identifier: MIT
#pragma once
// CalibratorOptions: which calibrator, and how it is set.

#include <tq/config.hpp>

#include <optional>
#include <string>

namespace tq {

/// A calibrator by name, and how it is set; what is absent has the calibrator's default.
struct CalibratorOptions {
  std::string name{};                      ///< empty: the one that suits the observer
  std::optional<double> lower{}, upper{};  ///< of percentile
  std::optional<double> deviations{};      ///< of mean_std
  std::optional<double> norm{};            ///< of lp
  std::optional<double> count_zeros{};     ///< of kl: not 0 for yes
};

}  // namespace tq

// SPDX-License-Identifier: MIT
#pragma once
// MseCalibrator: the range whose quantizer leaves the least mean squared error.

#include <tq/calibrate/lp.hpp>

namespace tq {

/// `LpCalibrator` of norm 2: the least mean (x - x')^2.
struct MseCalibrator {
  template <AnyParams Params, NumericsPolicy N, SampleFor<Params> Acc>
  [[nodiscard]] Range range(const Acc& seen) const {
    return LpCalibrator{2}.range<Params, N>(seen);
  }
};

}  // namespace tq

// SPDX-License-Identifier: MIT
#pragma once
// MinMaxCalibrator: the codes cover everything that was seen.

#include <tq/calibrate/range_for.hpp>

namespace tq {

/// The observed range as it is: nothing is clipped.
struct MinMaxCalibrator {
  template <AnyParams Params, NumericsPolicy N, RangeAccumulator Acc>
    requires RangeFor<Acc, Params>
  [[nodiscard]] Range range(const Acc& seen) const noexcept {
    return seen.range();
  }
};

}  // namespace tq

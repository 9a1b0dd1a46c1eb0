// SPDX-License-Identifier: MIT
#pragma once
// MeanAbsCalibrator: the codes reach the mean magnitude, as binary and ternary networks have it.

#include <tq/calibrate/concepts.hpp>
#include <tq/observe/mean_abs.hpp>

namespace tq {

/// The range [-m, m] with m the mean magnitude. For `binary` and `ternary` under `Symmetric` the
/// scale is then m itself; types with larger codes would clip about half of the values. Source:
/// Rastegari et al., "XNOR-Net", 2016, section 3.1 (alpha, the best scale for signs); Ma et al.,
/// "The Era of 1-bit LLMs", 2024, section 2 (gamma of BitNet b1.58).
struct MeanAbsCalibrator {
  template <AnyParams Params, NumericsPolicy N, MeanAbsAccumulator Acc>
  [[nodiscard]] Range range(const Acc& seen) const noexcept {
    const auto mean = static_cast<float>(seen.mean_abs());
    return {-mean, mean};
  }
};

}  // namespace tq

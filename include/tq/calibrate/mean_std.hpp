// SPDX-License-Identifier: MIT
#pragma once
// MeanStdCalibrator: the codes cover a number of standard deviations around the mean.

#include <tq/calibrate/range_for.hpp>
#include <tq/error.hpp>
#include <tq/numeric/shortest_text.hpp>

#include <algorithm>
#include <cmath>

namespace tq {

/// The range from mean - deviations * sigma to mean + deviations * sigma, within the observed one;
/// the observed one where that leaves codes nothing to tell apart (unsigned types, when it lies
/// below 0). Mean and deviation are those of the values that are not 0, where the accumulator
/// counted those that are and the symmetry keeps them.
struct MeanStdCalibrator {
  double deviations = 3;

  /// Throws: `errc::bad_argument` when `deviations` is negative, infinite or NaN.
  template <AnyParams Params, NumericsPolicy N, MomentAccumulator Acc>
    requires RangeFor<Acc, Params>
  [[nodiscard]] Range range(const Acc& seen) const {
    if (!(deviations >= 0 && std::isfinite(deviations)))
      detail::raise_expected(errc::bad_argument, "tq::MeanStdCalibrator",
                             {"a finite number of deviations of at least 0"},
                             {detail::shortest_text(deviations)});
    const Range whole = seen.range();
    const double lo = double(whole.min), hi = double(whole.max);
    const detail::Moments moments = detail::moments_without_zeros(seen, detail::decides<Params>);
    const double mean = std::clamp(moments.mean, lo, hi),
                 reach = deviations * std::sqrt(moments.variance);
    const Range r{static_cast<float>(std::max(mean - reach, lo)),
                  static_cast<float>(std::min(mean + reach, hi))};
    return detail::covered(r, detail::decides<Params>) > 0 ? r : whole;
  }
};

}  // namespace tq

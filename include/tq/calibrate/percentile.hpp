// SPDX-License-Identifier: MIT
#pragma once
// PercentileCalibrator: the codes cover all but a share of the values at either end.

#include <tq/calibrate/range_for.hpp>
#include <tq/error.hpp>

#include <string>

namespace tq {

/// The range from the value that a share `lower` of everything does not exceed to the one that a share `upper` does
/// not. Where that leaves codes nothing to tell apart although the observed range does (after ReLU more than `upper` of
/// the values may be 0), the shares that are cut off, lower and 1 - upper, are halved until it does, 32 times at most;
/// after that it is the observed range. Ends within the one bin of a histogram that begins at 0 count as 0, unless
/// everything seen was positive.
struct PercentileCalibrator {
  double lower = 0.001, upper = 0.999;

  /// Throws: `errc::bad_argument` unless 0 <= lower <= upper <= 1.
  template <AnyParams Params, NumericsPolicy N, QuantileAccumulator Acc>
  requires RangeFor<Acc, Params>
  [[nodiscard]] Range range(const Acc& seen) const {
    if (!(0 <= lower && lower <= upper && upper <= 1))
      raise(errc::bad_argument, "tq::PercentileCalibrator: expected 0 <= lower <= upper <= 1, got lower " +
                                    std::to_string(lower) + " and upper " + std::to_string(upper));
    const Range whole = seen.range();
    const double width = bin_width(seen);
    const auto is_empty = [&](Range r) {
      const bool in_bin_of_zero = r.min >= 0 && double(r.max) <= width && whole.min <= 0;
      return in_bin_of_zero || !(detail::covered(r, detail::decides<Params>) > 0);
    };
    Range r{seen.quantile(lower), seen.quantile(upper)};
    if (is_empty(whole)) return r;
    double bottom = lower, top = 1 - upper;
    for (int i = 0; i < 32 && is_empty(r); ++i) {
      bottom /= 2;
      top /= 2;
      r = {seen.quantile(bottom), seen.quantile(1 - top)};
    }
    return is_empty(r) ? whole : r;
  }

 private:
  // 0 where quantiles are values that were seen.
  template <class Acc>
  [[nodiscard]] static double bin_width(const Acc& seen) {
    if constexpr (HistogramAccumulator<Acc>) return seen.bin_width();
    else if constexpr (SampleAccumulator<Acc>) return seen.is_exact() ? 0.0 : seen.histogram()->bin_width();
    else return 0;
  }
};

}  // namespace tq

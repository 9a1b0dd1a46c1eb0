// SPDX-License-Identifier: MIT
#pragma once
// PercentileCalibrator: the codes cover all but a share of the values at either end.

#include <tq/calibrate/detail/distribution.hpp>
#include <tq/calibrate/range_for.hpp>
#include <tq/error.hpp>
#include <tq/numeric/shortest_text.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tq {

/// The range from the value that a share `lower` of everything does not exceed to the one that a
/// share `upper` does not. Where that leaves codes nothing to tell apart although the observed
/// range does (after ReLU more than `upper` of the values may be 0), the shares that are cut off,
/// lower and 1 - upper, are halved until it does, 32 times at most; after that it is the observed
/// range. It is the observed range as well where everything seen is known to be a few values that
/// repeat, not more than there are codes: there is nothing to be gained from clipping one.
struct PercentileCalibrator {
  double lower = 0.001, upper = 0.999;

  /// Throws: `errc::bad_argument` unless 0 <= lower <= upper <= 1.
  template <AnyParams Params, NumericsPolicy N, QuantileAccumulator Acc>
    requires RangeFor<Acc, Params>
  [[nodiscard]] Range range(const Acc& seen) const {
    if (!(0 <= lower && lower <= upper && upper <= 1))
      detail::raise_expected(
          errc::bad_argument, "tq::PercentileCalibrator", {"0 <= lower <= upper <= 1"},
          {"lower ", detail::shortest_text(lower), " and upper ", detail::shortest_text(upper)});
    const Range whole = seen.range();
    if (is_few_values(seen, codes<Params>)) return whole;
    const auto is_empty = [&](Range r) {
      return !(detail::covered(r, detail::decides<Params>) > 0);
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
  template <AnyParams Params>
  static constexpr std::size_t codes = [] {
    using T = typename Params::type;
    if constexpr (IntegerElement<T>)
      return static_cast<std::size_t>(std::int64_t{Params::codes.max} - Params::codes.min + 1);
    else return std::size_t{1} << T::format::bits;
  }();
  template <class Acc>
  [[nodiscard]] static bool is_few_values(const Acc& seen, std::size_t most) {
    if constexpr (HistogramAccumulator<Acc>) {
      return detail::Distribution::is_few_values(seen, most);
    } else if constexpr (SampleAccumulator<Acc>) {
      if (!seen.is_exact()) return is_few_values(*seen.histogram(), most);
      std::vector<float> values = seen.values();
      const std::size_t all = values.size();
      values.erase(std::unique(values.begin(), values.end()), values.end());
      return values.size() <= most && all / 4 >= values.size();
    } else {
      return false;
    }
  }
};

}  // namespace tq

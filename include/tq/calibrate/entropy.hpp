// SPDX-License-Identifier: MIT
#pragma once
// EntropyCalibrator: the range whose codes say most about the values.

#include <tq/calibrate/concepts.hpp>
#include <tq/calibrate/detail/distribution.hpp>
#include <tq/calibrate/detail/logarithm.hpp>
#include <tq/calibrate/detail/quantizer_grid.hpp>
#include <tq/calibrate/detail/range_search.hpp>
#include <tq/calibrate/lp.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace tq {

namespace detail {

/// Minus the entropy of the codes, in nats.
class CodeEntropy {
 public:
  static constexpr int trials = 16;
  CodeEntropy(const QuantizerGrid& grid, const Distribution& seen, Range observed)
      : grid_(grid), seen_(seen), least_(double(grid.fit(observed).scale)) {
    double widest = grid.is_integer ? 1 : 0;
    if (!grid.is_integer) {
      const std::vector<double>& levels = grid.levels().levels;
      for (std::size_t i = 0; i + 1 < levels.size(); ++i)
        widest = std::max(widest, levels[i + 1] - levels[i]);
    }
    least_ = std::min(least_, seen.width() * seen.unit() / widest);
  }

  /// The score by every fourth boundary only, where there are many.
  [[nodiscard]] double rough(const Levels& a) const { return score(a, 4); }
  [[nodiscard]] double exact(const Levels& a) const { return score(a, 1); }

 private:
  [[nodiscard]] double score(const Levels& a, std::int32_t every) const {
    if (!QuantizerGrid::usable(a) || double(a.scale) < least_)
      return std::numeric_limits<double>::infinity();
    const double scale = double(a.scale) / seen_.unit(), offset = double(a.offset) / seen_.unit();
    double sum = 0, before = 0;
    const auto add = [&](double below) {
      const double share = below - before;
      if (share > 0) sum += share * log_(share);
      before = below;
    };
    if (grid_.is_integer) {
      const std::int32_t lo = grid_.codes.min - a.zero_point, hi = grid_.codes.max - a.zero_point;
      for (std::int32_t k = lo; k < hi; k += hi - lo < 63 ? 1 : every)
        add(seen_.below((k + (k < 0 ? 1 + grid_.down : grid_.up)) * scale + offset));
    } else {
      const std::vector<double>& at = grid_.levels().thresholds;
      for (std::size_t k = 0; k < at.size();
           k += at.size() < 63 ? 1 : static_cast<std::size_t>(every))
        add(seen_.below(at[k] * scale));
    }
    add(1);
    return sum;
  }

  Logarithm log_;
  QuantizerGrid grid_;
  const Distribution& seen_;
  double least_;
};

}  // namespace detail

/// The range with the largest Shannon entropy -sum p_k log p_k of the codes, p_k the share of
/// values that become code k, by the thresholds of the quantizer itself at the scale as it is
/// stored. Values that are known count as they are, those of a bin as spread evenly over it; scales
/// at which the widest cells would be narrower than bins are left out, unless the observed range
/// has such a one. A few values that repeat, not more than there are codes, have the same entropy
/// in every range that tells them apart: there it is the range of the least mean squared error.
/// Source: Park et al., "Weighted-Entropy-Based Quantization", 2017, with equal weights.
struct EntropyCalibrator {
  template <AnyParams Params, NumericsPolicy N, HistogramFor<Params> Acc>
  [[nodiscard]] Range range(const Acc& seen) const {
    const detail::QuantizerGrid grid = detail::quantizer_grid<Params, N>();
    if (!grid.leaves_choice(seen.range())) return seen.range();
    const auto d = detail::Distribution::of(seen, grid.by);
    if (detail::Distribution::is_few_values(seen, grid.size()))
      return detail::least_lp_error(grid, d, seen.range(), 2);
    const detail::CodeEntropy entropy(grid, d, seen.range());
    return detail::RangeSearch(detail::placed(grid, d), seen.range(), d.width() * d.unit(), entropy)
        .best();
  }
};

}  // namespace tq

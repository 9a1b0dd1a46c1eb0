// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/calibrate/entropy.hpp.

#include <tq/calibrate/detail/logarithm.hpp>
#include <tq/calibrate/detail/range_search.hpp>
#include <tq/calibrate/entropy.hpp>

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

template <std::same_as<Distribution> D>
TQ_CORE_API Range greatest_entropy(const QuantizerGrid& grid, const D& d, Range seen) {
  const CodeEntropy entropy(grid, d, seen);
  return RangeSearch(placed(grid, d), seen, d.width() * d.unit(), entropy).best();
}

#ifdef TQ_KERNEL_LIBRARY
template Range greatest_entropy(const QuantizerGrid&, const Distribution&, Range);
#endif

}  // namespace detail

}  // namespace tq

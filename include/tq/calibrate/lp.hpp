// SPDX-License-Identifier: MIT
#pragma once
// LpCalibrator: the range whose quantizer leaves the least mean |x - x'|^p.

#include <tq/calibrate/concepts.hpp>
#include <tq/calibrate/detail/distribution.hpp>
#include <tq/calibrate/detail/lp_error.hpp>
#include <tq/calibrate/detail/quantizer_grid.hpp>
#include <tq/calibrate/detail/range_search.hpp>
#include <tq/error.hpp>
#include <tq/numeric/shortest_text.hpp>

#include <concepts>

namespace tq {

namespace detail {
/// The grid for ranges of this distribution.
[[nodiscard]] inline QuantizerGrid placed(QuantizerGrid grid, const Distribution& d) {
  if (grid.by == Decides::width) grid.middle = d.median() * d.unit();
  return grid;
}

/// The range with the least mean |x - x'|^norm for values of this distribution. A template, as the
/// searches take long to compile.
template <std::same_as<Distribution> D>
[[nodiscard]] Range least_lp_error(const QuantizerGrid& anywhere, const D& d, Range seen,
                                   double norm) {
  const QuantizerGrid grid = placed(anywhere, d);
  const auto search = [&](const auto& primitive) {
    const LpError error(grid, d, norm, primitive);
    if (error.on_levels(grid.fit(seen))) return seen;
    RangeSearch best(grid, seen, d.width() * d.unit(), error);
    if (d.is_few_points()) best.try_parts();
    return best.best();
  };
  return norm == 2 ? search(SquarePrimitive{}) : search(PowerPrimitive(norm));
}
}  // namespace detail

/// The range with the least mean |x - x'|^norm, where x' is what the quantizer itself makes of x:
/// its levels, its zero point, its rounding and its clamp, at the scale as it is stored. Values
/// that were kept count as they are; those of a histogram are spread evenly over each bin, none
/// narrower in effect, so that types of 16 bits, whose steps are finer than bins, are judged by the
/// bins. Never worse, by that measure, than the observed range. Source: Nagel et al., "A White
/// Paper on Neural Network Quantization", 2021, section 3.2.1 (norm 2); Frantar et al., "GPTQ",
/// 2022, whose code has norm 2.4.
struct LpCalibrator {
  double norm = 2.4;  ///< in (0, 16]

  /// Throws: `errc::bad_argument` for a norm outside (0, 16].
  template <AnyParams Params, NumericsPolicy N, SampleFor<Params> Acc>
  [[nodiscard]] Range range(const Acc& seen) const {
    if (!(norm > 0 && norm <= 16))
      detail::raise_expected(errc::bad_argument, "tq::LpCalibrator", {"a norm in (0, 16]"},
                             {detail::shortest_text(norm)});
    const detail::QuantizerGrid grid = detail::quantizer_grid<Params, N>();
    if (!grid.leaves_choice(seen.range())) return seen.range();
    return detail::least_lp_error(grid, detail::Distribution::of(seen, grid.by), seen.range(),
                                  norm);
  }
};

}  // namespace tq

// SPDX-License-Identifier: MIT
#pragma once
// LpCalibrator: the range whose quantizer leaves the least mean |x - x'|^p.

#include <tq/bodies.hpp>
#include <tq/calibrate/concepts.hpp>
#include <tq/calibrate/detail/distribution.hpp>
#include <tq/calibrate/detail/quantizer_grid.hpp>
#include <tq/observe/histogram.hpp>

#include <concepts>

namespace tq {

namespace detail {
/// The grid for ranges of this distribution.
[[nodiscard]] TQ_CORE_API QuantizerGrid placed(QuantizerGrid grid, const Distribution& d);

/// The range with the least mean |x - x'|^norm for values of this distribution. A template, as the
/// searches take long to compile.
template <std::same_as<Distribution> D>
[[nodiscard]] TQ_CORE_API Range least_lp_error(const QuantizerGrid& anywhere, const D& d,
                                               Range seen, double norm);

/// Throws: `errc::bad_argument` for a norm outside (0, 16].
TQ_CORE_API void require_norm(double norm);

/// The same for what an accumulator saw.
template <class Acc>
[[nodiscard]] Range lp_range(const QuantizerGrid& grid, const Acc& seen, double norm) {
  if (!grid.leaves_choice(seen.range())) return seen.range();
  return least_lp_error(grid, Distribution::of(seen, grid.by), seen.range(), norm);
}
#ifdef TQ_KERNEL_LIBRARY
extern template Range lp_range(const QuantizerGrid&, const Histogram&, double);
#endif
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
    detail::require_norm(norm);
    return detail::lp_range(detail::quantizer_grid<Params, N>(), seen, norm);
  }
};

}  // namespace tq

#ifndef TQ_KERNEL_LIBRARY
#include <tq/calibrate/lp.ipp>
#endif

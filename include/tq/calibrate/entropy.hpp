// SPDX-License-Identifier: MIT
#pragma once
// EntropyCalibrator: the range whose codes say most about the values.

#include <tq/bodies.hpp>
#include <tq/calibrate/concepts.hpp>
#include <tq/calibrate/detail/distribution.hpp>
#include <tq/calibrate/detail/quantizer_grid.hpp>
#include <tq/calibrate/lp.hpp>

#include <concepts>

namespace tq {

namespace detail {

/// The range whose codes have the largest entropy for values of this distribution. A template, as
/// the search takes long to compile.
template <std::same_as<Distribution> D>
[[nodiscard]] TQ_CORE_API Range greatest_entropy(const QuantizerGrid& grid, const D& d, Range seen);

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
    return detail::greatest_entropy(grid, d, seen.range());
  }
};

}  // namespace tq

#ifndef TQ_KERNEL_LIBRARY
#include <tq/calibrate/entropy.ipp>
#endif

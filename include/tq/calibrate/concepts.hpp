// SPDX-License-Identifier: MIT
#pragma once
// The concept of a calibrator, which chooses the range that a slot's codes shall cover.

#include <tq/core/quant_params.hpp>
#include <tq/core/symmetry.hpp>
#include <tq/numeric/numerics.hpp>
#include <tq/observe/concepts.hpp>

#include <concepts>

namespace tq {

/// `C` chooses, from the state of accumulator `Acc`, the range that `Params` under numerics N shall
/// cover. It is only asked if `Acc` saw a finite value. Smallest model:
///
///     struct MinMaxCalibrator {
///       template <tq::AnyParams Params, tq::NumericsPolicy N, tq::RangeAccumulator Acc>
///       tq::Range range(const Acc& seen) const { return seen.range(); }
///     };
template <class C, class Acc, class Params, class N = numerics_of<Params>>
concept CalibratorFor = Accumulator<Acc> && AnyParams<Params> && NumericsPolicy<N> &&
                        requires(const C& c, const Acc& a) {
                          { c.template range<Params, N>(a) } -> std::same_as<Range>;
                        };

}  // namespace tq

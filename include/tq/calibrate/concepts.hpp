// SPDX-License-Identifier: MIT
#pragma once
// What a calibrator is: it chooses the range that a slot's codes shall cover.

#include <tq/core/element.hpp>
#include <tq/core/symmetry.hpp>
#include <tq/observe/concepts.hpp>

#include <concepts>

namespace tq {

/// `C` chooses a range for element type T and symmetry S from what accumulator `Acc` saw. Smallest model:
///     struct MinMaxCalibrator {
///       template <class T, class S, tq::RangeAccumulator Acc>
///       tq::Range range(const Acc& seen) const { return seen.range(); }
///     };
template <class C, class Acc, class T, class S>
concept CalibratorFor = Accumulator<Acc> && SymmetryFor<S, T> && requires(const C& c, const Acc& a) {
  { c.template range<T, S>(a) } -> std::same_as<Range>;
};

}  // namespace tq

// SPDX-License-Identifier: MIT
#pragma once
// calibrate: from what an observer saw, or straight from a tensor, to parameters.

#include <tq/calibrate/concepts.hpp>
#include <tq/calibrate/min_max.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/numeric/numerics.hpp>
#include <tq/observe/min_max.hpp>
#include <tq/observe/observer.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace tq {

/// Parameters for everything `observer` saw: the calibrator chooses each slot's range, the symmetry turns it
/// into scale and zero point, `N`'s degenerate policy deals with ranges that have no usable scale.
/// Throws: `errc::no_data` when the observer, or one of its slots, saw no finite value.
template <AnyParams Params, NumericsPolicy N = numerics::onnx, Accumulator Acc, class C = MinMaxCalibrator>
  requires CalibratorFor<C, Acc, Params, N>
[[nodiscard]] Params calibrate(const Observer<Acc, typename Params::granularity_type>& observer,
                               const C& calibrator = {}, const N& = {}) {
  if (observer.slots().empty())
    raise(errc::no_data, "tq::calibrate: expected data, but the observer saw none");
  std::vector<Range> ranges;
  ranges.reserve(observer.slots().size());
  for (const Acc& slot : observer.slots()) {
    if (slot.empty())
      raise(errc::no_data, "tq::calibrate: expected finite values in every slot, but slot " +
                               std::to_string(ranges.size()) + " of " + std::to_string(observer.slots().size()) +
                               " saw none");
    ranges.push_back(calibrator.template range<Params, N>(slot));
  }
  return fit_params<Params, N>(observer.granularity(), ranges);
}

/// Parameters that cover the range of every block of `x`.
/// Throws: `errc::no_data` when `x`, or one of its blocks, has no finite value; `errc::bad_axis`,
/// `errc::bad_group_size` when the granularity does not fit.
template <AnyParams Params, Backend B = default_backend, NumericsPolicy N = numerics::onnx>
[[nodiscard]] Params calibrate(ConstTensorView x,
                               typename Params::granularity_type granularity = typename Params::granularity_type{},
                               const N& numerics = {}) {
  Observer<MinMax, typename Params::granularity_type> observer(granularity);
  observer.template observe<B>(x);
  return calibrate<Params>(observer, MinMaxCalibrator{}, numerics);
}

}  // namespace tq

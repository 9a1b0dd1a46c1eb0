// expect: RangeFor
// SPDX-License-Identifier: MIT
#include <tq/calibrate/min_max.hpp>
#include <tq/observe/histogram.hpp>

using Params = tq::QuantParams<tq::uint4, tq::PerTensor, tq::FloatOffset>;
tq::Range range(const tq::AbsHistogram& seen) {
  return tq::MinMaxCalibrator{}.range<Params, tq::numerics::onnx>(seen);
}

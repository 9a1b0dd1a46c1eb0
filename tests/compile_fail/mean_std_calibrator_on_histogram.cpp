// expect: MomentAccumulator
// SPDX-License-Identifier: MIT
#include <tq/calibrate/mean_std.hpp>
#include <tq/observe/histogram.hpp>

using Params = tq::QuantParams<tq::int8, tq::PerTensor, tq::Asymmetric>;
tq::Range range(const tq::Histogram& seen) {
  return tq::MeanStdCalibrator{}.range<Params, tq::numerics::onnx>(seen);
}

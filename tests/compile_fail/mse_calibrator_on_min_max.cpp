// expect: HistogramFor|HistogramAccumulator
// SPDX-License-Identifier: MIT
#include <tq/calibrate/calibrate.hpp>
#include <tq/calibrate/mse.hpp>

using Params = tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>;
tq::Range range(const tq::MinMax& seen) {
  return tq::MseCalibrator{}.range<Params, tq::numerics::onnx>(seen);
}

// expect: PriorFor|HistogramAccumulator
// SPDX-License-Identifier: MIT
#include <tq/calibrate/aciq.hpp>
#include <tq/observe/mean_std.hpp>

using Params = tq::QuantParams<tq::int8, tq::PerTensor, tq::Asymmetric>;
tq::Range range(const tq::MeanStd& seen) {
  return tq::AciqCalibrator<tq::Laplace>{}.range<Params, tq::numerics::onnx>(seen);
}

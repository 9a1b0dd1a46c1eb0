// expect: RangeFor
// SPDX-License-Identifier: MIT
#include <tq/calibrate/kl_divergence.hpp>
#include <tq/observe/histogram.hpp>

using Params = tq::QuantParams<tq::int8, tq::PerTensor, tq::Asymmetric>;
tq::Range range(const tq::AbsHistogram& seen) {
  return tq::KlDivergenceCalibrator{}.range<Params, tq::numerics::onnx>(seen);
}

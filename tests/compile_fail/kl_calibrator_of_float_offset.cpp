// expect: OffsetParams
// SPDX-License-Identifier: MIT
#include <tq/calibrate/kl_divergence.hpp>
#include <tq/observe/histogram.hpp>

using Params = tq::QuantParams<tq::uint4, tq::PerTensor, tq::FloatOffset>;
tq::Range range(const tq::Histogram& seen) {
  return tq::KlDivergenceCalibrator{}.range<Params, tq::numerics::onnx>(seen);
}

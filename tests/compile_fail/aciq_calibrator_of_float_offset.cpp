// expect: OffsetParams
// SPDX-License-Identifier: MIT
#include <tq/calibrate/aciq.hpp>
#include <tq/observe/mean_std.hpp>

using Params = tq::QuantParams<tq::uint4, tq::PerTensor, tq::FloatOffset>;
tq::Range range(const tq::MeanStd& seen) {
  return tq::AciqCalibrator<tq::Gauss>{}.range<Params, tq::numerics::onnx>(seen);
}

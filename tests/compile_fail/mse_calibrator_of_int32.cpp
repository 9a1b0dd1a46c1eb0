// expect: ExactInFloat32|SmallInteger
// SPDX-License-Identifier: MIT
#include <tq/calibrate/calibrate.hpp>
#include <tq/calibrate/mse.hpp>
#include <tq/observe/histogram.hpp>

using Params = tq::QuantParams<tq::int32, tq::PerTensor, tq::Symmetric>;
auto fit(tq::ConstTensorView x) {
  return tq::calibrate<Params, tq::Histogram>(x, tq::MseCalibrator{});
}

// expect: one error: tq::calibrate: this calibrator cannot choose from what the observer keeps
// SPDX-License-Identifier: MIT
#include <tq/calibrate/calibrate.hpp>
#include <tq/calibrate/entropy.hpp>
#include <tq/observe/mean_abs.hpp>

using Params = tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>;
Params params(const tq::Observer<tq::MeanAbs>& seen) {
  return tq::calibrate<Params>(seen, tq::EntropyCalibrator{});
}

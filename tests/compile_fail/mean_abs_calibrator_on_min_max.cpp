// expect: one error: tq::calibrate: this calibrator cannot choose from what the observer keeps
// SPDX-License-Identifier: MIT
#include <tq/calibrate/calibrate.hpp>
#include <tq/calibrate/mean_abs.hpp>

using W = tq::QuantParams<tq::ternary, tq::PerTensor, tq::Symmetric>;
W params(const tq::Observer<tq::MinMax>& seen) {
  return tq::calibrate<W>(seen, tq::MeanAbsCalibrator{});
}

// expect: one error: tq::calibrate: this calibrator cannot choose from what the accumulator keeps
// SPDX-License-Identifier: MIT
#include <tq/calibrate/calibrate.hpp>
#include <tq/calibrate/kl_divergence.hpp>

#include <vector>

using W8 = tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>;
auto f(const std::vector<float>& x) {
  return tq::calibrate<W8, tq::MinMax>(x, tq::KlDivergenceCalibrator{});
}

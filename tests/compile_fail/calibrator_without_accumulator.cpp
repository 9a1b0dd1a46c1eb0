// expect: one error: tq::calibrate: after the tensor come options: a granularity, numerics, an
// executor SPDX-License-Identifier: MIT
#include <tq/calibrate/calibrate.hpp>
#include <tq/calibrate/mse.hpp>

#include <vector>

using W8 = tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>;
auto f(const std::vector<float>& x) { return tq::calibrate<W8>(x, tq::MseCalibrator{}); }

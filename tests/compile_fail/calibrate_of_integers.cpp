// expect: one error: tq::calibrate: the input is a tensor of real numbers: float, double, float16
// SPDX-License-Identifier: MIT
#include <tq/calibrate/calibrate.hpp>

#include <vector>

using W8 = tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>;
auto f(const std::vector<int>& x) { return tq::calibrate<W8>(x); }

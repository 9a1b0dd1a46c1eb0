// expect: one error: tq::quantize: the input is a tensor of real numbers: float, double, float16
// SPDX-License-Identifier: MIT
#include <tq/ops/quantize.hpp>

#include <vector>

using Params = tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>;
void f(const std::vector<int>& x, const Params& p) { (void)tq::quantize(x, p); }

// expect: one error: tq::dequantize: the output is a tensor of real numbers: float, double, float16
// SPDX-License-Identifier: MIT
#include <tq/ops/dequantize.hpp>

#include <vector>

using W4 = tq::QuantParams<tq::int4, tq::PerTensor, tq::Symmetric>;
void f(const tq::QuantizedTensor<W4>& q, std::vector<int>& out) { tq::dequantize(q, out); }

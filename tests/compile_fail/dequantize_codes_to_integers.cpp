// expect: one error: tq::dequantize: the output is a tensor of real numbers: float, double, float16
// SPDX-License-Identifier: MIT
#include <tq/ops/dequantize.hpp>

#include <cstdint>
#include <vector>

using W8 = tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>;
void f(const std::vector<std::int8_t>& codes, const W8& p, std::vector<int>& out) {
  tq::dequantize(codes, p, out);
}

// expect: one error: tq::quantize: the output is a temporary: give it a name first
// SPDX-License-Identifier: MIT
#include <tq/ops/quantize.hpp>

#include <cstdint>
#include <vector>

using Params = tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>;
void f(const std::vector<float>& x, const Params& p) {
  tq::quantize(x, p, std::vector<std::int8_t>(x.size()));
}

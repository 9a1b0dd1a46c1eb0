// expect: one error: tq::quantize: after the parameters comes an output, a tensor of their
// code_type SPDX-License-Identifier: MIT
#include <tq/ops/quantize.hpp>

#include <vector>

using Params = tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>;
void f(const std::vector<float>& x, const Params& p, std::vector<unsigned char>& out) {
  tq::quantize(x, p, out);
}

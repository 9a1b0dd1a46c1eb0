// expect: no matching function|could not convert|cannot convert
// SPDX-License-Identifier: MIT
#include <tq/ops/fake_quantize.hpp>

#include <vector>

using Params = tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>;
void f(const std::vector<float>& x, const Params& p) { tq::fake_quantize(x, p, x); }

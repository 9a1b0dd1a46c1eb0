// expect: knows zero points and no float offsets
// SPDX-License-Identifier: MIT
#include <tq/ops/fake_quantize.hpp>

using Params = tq::QuantParams<tq::uint4, tq::PerTensor, tq::FloatOffset>;
auto f(tq::ConstTensorView x, const Params& p) { return tq::fake_quantize(x, p); }

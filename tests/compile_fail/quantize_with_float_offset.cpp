// expect: knows zero points and no float offsets
// SPDX-License-Identifier: MIT
#include <tq/ops/quantize.hpp>

using Params = tq::QuantParams<tq::uint4, tq::PerGroup<32>, tq::FloatOffset, tq::float16>;
auto f(tq::ConstTensorView x, const Params& p) { return tq::quantize(x, p); }

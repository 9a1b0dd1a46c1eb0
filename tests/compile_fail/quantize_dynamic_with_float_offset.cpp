// expect: OffsetParams|float offsets
// SPDX-License-Identifier: MIT
#include <tq/ops/quantize_dynamic.hpp>

using Params = tq::QuantParams<tq::uint4, tq::PerGroup<32>, tq::FloatOffset>;
auto f(tq::ConstTensorView x) { return tq::quantize_dynamic<Params>(x); }

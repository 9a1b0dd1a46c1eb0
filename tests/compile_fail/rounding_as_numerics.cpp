// expect: is no option
// SPDX-License-Identifier: MIT
#include <tq/ops/fake_quantize.hpp>

using Params = tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>;
void f(tq::ConstTensorView x, const Params& p, tq::TensorView<float> out) {
  tq::fake_quantize(x, p, out, tq::HalfAway{});  // a rounding is not yet numerics
}

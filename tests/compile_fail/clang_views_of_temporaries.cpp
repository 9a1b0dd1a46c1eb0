// expect: 3 errors: temporary .*end of the full-expression
// flags: -Werror=dangling
// SPDX-License-Identifier: MIT
#include <tq/core/quantized_tensor.hpp>
#include <tq/core/tensor_view.hpp>

#include <vector>

using Params = tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::Asymmetric>;
std::vector<float> make();
float f(const tq::QuantizedTensor<Params>& q) {
  const tq::ConstTensorView copied = make();
  const tq::ConstTensorView& bound = make();
  const auto scales = static_cast<const Params&>(Params(q.params())).scales();
  return *copied.data() + *bound.data() + scales[0];
}

// expect: a CodeOutput needs a StaticActivation
// SPDX-License-Identifier: MIT
#include <tq/linear/quantized_linear.hpp>

using Params = tq::QuantParams<tq::uint8, tq::PerTensor, tq::Asymmetric>;

void made(const tq::QuantizedTensor<Params>& weights) {
  (void)tq::QuantizedLinear(weights, {}, tq::DynamicActivation<>{},
                            tq::CodeOutput(Params(0.1f, 3)));
}

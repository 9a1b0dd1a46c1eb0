// expect: one error: tq::FakeQuantize::backward: it changes the gradients of the layer, which is
// const SPDX-License-Identifier: MIT
#include <tq/train/fake_quantize.hpp>

#include <vector>

using Layer = tq::FakeQuantize<tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>>;
void f(const Layer& layer, const std::vector<float>& x, std::vector<float>& g) {
  layer.backward(x, g, g);
}

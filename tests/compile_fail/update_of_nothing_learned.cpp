// expect: learns|no matching (function|member)
// SPDX-License-Identifier: MIT
#include <tq/train/fake_quantize.hpp>

void step(tq::FakeQuantize<tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>>& layer) {
  layer.update([](auto, auto) {});
}

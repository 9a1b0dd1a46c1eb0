// SPDX-License-Identifier: MIT
#pragma once
// Short ways to call a layer, and to compare what it gives bit for bit.

#include <tq/train/fake_quantize.hpp>
#include <tq/train/learned_step.hpp>

#include <cstddef>
#include <span>
#include <vector>

#include "support/oracle.hpp"

namespace layers {

inline bool same_bits(std::span<const float> a, std::span<const float> b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!oracle::same(a[i], b[i])) return false;
  return true;
}

/// The result of forward for x.
template <class Layer>
std::vector<float> forward(Layer& layer, const std::vector<float>& x, const tq::Shape& shape) {
  std::vector<float> y(x.size());
  layer.forward(tq::ConstTensorView(x.data(), shape), y);
  return y;
}
template <class Layer>
std::vector<float> forward(Layer& layer, const std::vector<float>& x) {
  return forward(layer, x, tq::Shape{x.size()});
}
/// The gradient of x.
template <class Layer>
std::vector<float> backward(Layer& layer, const std::vector<float>& x, const std::vector<float>& gy,
                            const tq::Shape& shape) {
  std::vector<float> gx(x.size());
  (void)layer.backward(tq::ConstTensorView(x.data(), shape), gy, gx);
  return gx;
}

template <class Granularity>
using Step = tq::FakeQuantize<tq::QuantParams<tq::int4, Granularity, tq::Symmetric>, tq::MinMax,
                              tq::LearnedStep<>>;

}  // namespace layers

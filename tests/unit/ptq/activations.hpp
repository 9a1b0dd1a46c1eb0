// SPDX-License-Identifier: MIT
#pragma once
// Activations of layers, with inputs that depend on each other, are always 0, or are copies.

#include <tq/core/tensor_view.hpp>
#include <tq/observe/abs_max.hpp>
#include <tq/observe/observer.hpp>

#include <cstddef>
#include <vector>

#include "support/inputs.hpp"

namespace ptq_test {

// [tokens, inputs]: input i is a mix of itself and input i - 1, times 2^(i mod 5); the last input
// is always 0 where `dead`.
inline std::vector<float> activations(std::size_t tokens, std::size_t inputs, unsigned seed,
                                      bool dead = true) {
  inputs::Random r(seed);
  std::vector<float> x(tokens * inputs);
  for (std::size_t t = 0; t < tokens; ++t) {
    float before = 0;
    for (std::size_t i = 0; i < inputs; ++i) {
      const float own = static_cast<float>(r.between(-9999, 9999)) / 4096.0f;
      before = 0.75f * before + own;
      x[t * inputs + i] = before * static_cast<float>(1u << i % 5);
    }
    if (dead) x[t * inputs + inputs - 1] = 0;
  }
  return x;
}

using Ranges = tq::Observer<tq::AbsMax, tq::PerChannel<-1>>;

// The range of each input.
inline Ranges ranges_of(const tq::ConstTensorView& x) {
  Ranges out;
  out.observe(x);
  return out;
}

}  // namespace ptq_test

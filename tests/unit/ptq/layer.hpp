// SPDX-License-Identifier: MIT
#pragma once
// A layer of random weights, whose inputs depend on each other, and its losses by their definition.

#include <tq/core/tensor_view.hpp>
#include <tq/ptq/float_hessian.hpp>

#include <cstddef>
#include <vector>

#include "support/inputs.hpp"
#include "unit/ptq/activations.hpp"

namespace ptq_test {

struct Layer {
  std::size_t outputs, columns, tokens;
  std::vector<float> w, x;
  tq::FloatHessian h;

  Layer(std::size_t m, std::size_t n, unsigned seed, std::size_t count = 100)
      : outputs(m), columns(n), tokens(count), w(m * n), h(n) {
    inputs::Random r(seed);
    for (float& v : w) v = static_cast<float>(r.normal());
    x = activations(count, n, seed + 1);
    h.add(inputs());
  }
  [[nodiscard]] tq::ConstTensorView view() const { return {w.data(), {outputs, columns}}; }
  [[nodiscard]] tq::ConstTensorView inputs() const { return {x.data(), {tokens, columns}}; }

  // e (H + lambda I) e^T of a row of values.
  [[nodiscard]] double row_loss(std::size_t r, const std::vector<float>& values,
                                double lambda) const {
    const auto e = [&](std::size_t i) {
      return static_cast<double>(w[r * columns + i]) - static_cast<double>(values[r * columns + i]);
    };
    double loss = 0;
    for (std::size_t i = 0; i < columns; ++i)
      for (std::size_t j = 0; j < columns; ++j)
        loss += e(i) * (h(i, j) + (i == j ? lambda : 0.0)) * e(j);
    return loss;
  }
  [[nodiscard]] double loss(const std::vector<float>& values, double lambda = 0) const {
    double sum = 0;
    for (std::size_t r = 0; r < outputs; ++r) sum += row_loss(r, values, lambda);
    return sum;
  }
};

}  // namespace ptq_test

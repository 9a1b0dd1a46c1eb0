// SPDX-License-Identifier: MIT
// The layers of a program that links the kernel library run the products of its table, bit for bit
// those of the scalar reference.
#include <tq/linear.hpp>
#include <tq/ops/backend/native_backend.hpp>
#include <tq/ops/quantize_dynamic.hpp>

#include <cstddef>
#include <type_traits>
#include <vector>

static_assert(std::is_same_v<tq::default_arch, tq::kernel_library::Running>);

int main() {
  using Weights = tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::Symmetric>;
  constexpr std::size_t outputs = 70, inputs = 50, rows = 9;
  std::vector<float> w(outputs * inputs), x(rows * inputs), y(rows * outputs), expected(y.size());
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = float(i * 7919 % 2003) / 1000 - 1;
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = float(i * 104729 % 4001) / 2000 - 1;
  const tq::QuantizedLinear layer(
      tq::quantize_dynamic<Weights>(tq::ConstTensorView(w.data(), {outputs, inputs})));
  const tq::ConstTensorView input(x.data(), {rows, inputs});
  layer.forward(input, tq::TensorView<float>(y.data(), {rows, outputs}));
  layer.forward<tq::arch::scalar>(input, tq::TensorView<float>(expected.data(), {rows, outputs}));
  return y == expected && y[0] != 0 ? 0 : 1;
}

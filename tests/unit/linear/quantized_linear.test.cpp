// SPDX-License-Identifier: MIT
#include <tq/linear/quantized_linear.hpp>
#include <tq/ops/quantize.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"
#include "support/thread_executor.hpp"

namespace {

using tq::Shape;
using tq::TensorView;
using Weights = tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::Symmetric>;

struct Layer {
  std::size_t rows = 7, outputs = 21, inputs = 50;
  std::vector<float> x, w, bias;
  explicit Layer(std::uint64_t seed) : x(rows * inputs), w(outputs * inputs), bias(outputs) {
    inputs::Random r(seed);
    for (float& v : x) v = static_cast<float>(r.normal());
    for (float& v : w) v = static_cast<float>(0.1 * r.normal());
    for (float& v : bias) v = static_cast<float>(r.normal());
  }
  [[nodiscard]] TensorView<const float> view() const { return {x.data(), Shape{rows, inputs}}; }
  [[nodiscard]] auto quantized() const {
    return tq::quantize_dynamic<Weights>(TensorView<const float>(w.data(), Shape{outputs, inputs}));
  }
  [[nodiscard]] std::vector<float> forward(const tq::QuantizedLinear& layer) const {
    std::vector<float> y(rows * outputs);
    layer.forward(view(), TensorView<float>(y.data(), Shape{rows, outputs}));
    return y;
  }
};

}  // namespace

TEST_CASE("a layer's output is the scaled sum of the codes of its rows") {
  const Layer p(1);
  const auto q = p.quantized();
  const auto y = p.forward(tq::QuantizedLinear(q, p.bias));
  bool equal = true;
  for (std::size_t m = 0; m < p.rows; ++m) {
    const auto row = tq::quantize_dynamic<Weights, tq::Unpacked>(
        TensorView<const float>(&p.x[m * p.inputs], Shape{1, p.inputs}));
    for (std::size_t n = 0; n < p.outputs; ++n) {
      std::int32_t sum = 0;
      for (std::size_t k = 0; k < p.inputs; ++k)
        sum += row.codes()[k] * static_cast<std::int8_t>(q.bytes()[n * p.inputs + k]);
      volatile float product =
          static_cast<float>(sum) * (row.params().scales()[0] * q.params().scales()[n]);
      equal = equal && y[m * p.outputs + n] == product + p.bias[n];
    }
  }
  CHECK(equal);
}

TEST_CASE("a layer is close to the one of floats") {
  const Layer p(2);
  const auto y = p.forward(tq::QuantizedLinear(p.quantized(), p.bias));
  double error = 0, power = 0;
  for (std::size_t m = 0; m < p.rows; ++m)
    for (std::size_t n = 0; n < p.outputs; ++n) {
      double wanted = static_cast<double>(p.bias[n]);
      for (std::size_t k = 0; k < p.inputs; ++k)
        wanted +=
            static_cast<double>(p.x[m * p.inputs + k]) * static_cast<double>(p.w[n * p.inputs + k]);
      error += std::pow(static_cast<double>(y[m * p.outputs + n]) - wanted, 2);
      power += wanted * wanted;
    }
  CHECK(10 * std::log10(power / error) > 38);
}

TEST_CASE("weights of 4 bits, and turned rows and results, are taken as they are") {
  const Layer p(3);
  using Small = tq::QuantParams<tq::int4, tq::PerTensor, tq::Symmetric>;
  const tq::QuantizedLinear layer(
      tq::quantize_dynamic<Small>(TensorView<const float>(p.w.data(), Shape{p.outputs, p.inputs})),
      p.bias);
  const auto wanted = p.forward(layer);
  std::vector<float> xt(p.x.size()), yt(p.rows * p.outputs);
  for (std::size_t m = 0; m < p.rows; ++m)
    for (std::size_t k = 0; k < p.inputs; ++k) xt[k * p.rows + m] = p.x[m * p.inputs + k];
  const auto step = static_cast<std::ptrdiff_t>(p.rows);
  layer.forward(TensorView<const float>(xt.data(), Shape{p.rows, p.inputs}, tq::Strides{1, step}),
                TensorView<float>(yt.data(), Shape{p.rows, p.outputs}, tq::Strides{1, step}),
                test::Threads{3});
  bool equal = true;
  for (std::size_t m = 0; m < p.rows; ++m)
    for (std::size_t n = 0; n < p.outputs; ++n)
      equal = equal && yt[n * p.rows + m] == wanted[m * p.outputs + n];
  CHECK(equal);
}

TEST_CASE("no rows give no results, and what does not fit is refused") {
  const Layer p(4);
  const tq::QuantizedLinear layer(p.quantized());
  layer.forward(TensorView<const float>(nullptr, Shape{0, p.inputs}),
                TensorView<float>(nullptr, Shape{0, p.outputs}));
  std::vector<float> y(p.rows * p.outputs, 3.0f);
  test::raises(tq::errc::shape_mismatch, {"rows of 50 values", "[50, 7]"}, [&] {
    layer.forward(TensorView<const float>(p.x.data(), Shape{p.inputs, p.rows}),
                  TensorView<float>(y.data(), Shape{p.rows, p.outputs}));
  });
  test::raises(tq::errc::shape_mismatch, {"[7, 21]", "[21, 7]"}, [&] {
    layer.forward(p.view(), TensorView<float>(y.data(), Shape{p.outputs, p.rows}));
  });
  CHECK(y == std::vector<float>(y.size(), 3.0f));
  test::raises(tq::errc::shape_mismatch, {"0 or 21 biases", "2"},
               [&] { tq::QuantizedLinear(p.quantized(), std::vector<float>(2)); });
}

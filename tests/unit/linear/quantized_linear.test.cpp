// SPDX-License-Identifier: MIT
#include <tq/linear/detail/trained_weights.hpp>
#include <tq/linear/quantized_linear.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/quantize.hpp>
#include <tq/train/dorefa.hpp>
#include <tq/train/fake_quantize.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"
#include "support/thread_executor.hpp"

namespace {

using tq::CodeOutput;
using tq::FloatOutput;
using tq::QuantizedLinear;
using tq::Shape;
using tq::StaticActivation;
using tq::TensorView;
using Weights = tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::Symmetric>;
using Bytes = tq::QuantParams<tq::uint8, tq::PerTensor, tq::Asymmetric>;
using SignedBytes = tq::QuantParams<tq::int8, tq::PerTensor, tq::Asymmetric>;

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
  [[nodiscard]] std::vector<float> forward(const tq::QuantizedLinear<>& layer) const {
    std::vector<float> y(rows * outputs);
    layer.forward(view(), TensorView<float>(y.data(), Shape{rows, outputs}));
    return y;
  }
  [[nodiscard]] TensorView<const float> weights() const {
    return {w.data(), Shape{outputs, inputs}};
  }
  // The outputs of a layer for x, floats or codes.
  template <class Made, class X>
  [[nodiscard]] auto run(const Made& layer, const std::vector<X>& from) const {
    std::vector<typename Made::value_type> y(rows * outputs);
    layer.forward(TensorView<const X>(from.data(), Shape{rows, inputs}),
                  TensorView<typename Made::value_type>(y.data(), Shape{rows, outputs}));
    return y;
  }
  // sum over k of (code of x - its zero point) * (code of w - its zero point)
  template <class X, class W>
  [[nodiscard]] std::int32_t sum(const std::vector<X>& from, std::int32_t x_zero_point,
                                 const tq::QuantizedTensor<W, tq::Unpacked>& q, std::size_t m,
                                 std::size_t n) const {
    std::int32_t s = 0;
    const auto p = q.params().affine(q.params().scales().size() == 1 ? 0 : n);
    for (std::size_t k = 0; k < inputs; ++k)
      s += (from[m * inputs + k] - x_zero_point) * (q.codes()[n * inputs + k] - p.zero_point);
    return s;
  }
};

template <class Params>
std::vector<typename Params::code_type> codes_of(const std::vector<float>& x, const Params& p) {
  std::vector<typename Params::code_type> out(x.size());
  tq::quantize(x, p, out);
  return out;
}
template <class W>
auto quantized_as(const Layer& p) {
  return tq::quantize_dynamic<W, tq::Unpacked>(p.weights());
}

// A layer of codes against its formula, with biases of int32, and of float32.
template <class R, class W, class In, class Out>
bool agrees(const Layer& p, const In& in, const Out& out, double (*factor)(float, float, float)) {
  const auto q = quantized_as<W>(p);
  const auto x = codes_of(p.x, in);
  const auto scale = [&](std::size_t n) {
    return q.params().scales()[q.params().scales().size() == 1 ? 0 : n];
  };
  std::vector<std::int32_t> bias(p.outputs);
  for (std::size_t n = 0; n < p.outputs; ++n)
    bias[n] = static_cast<std::int32_t>(
        std::nearbyint(static_cast<double>(p.bias[n]) /
                       (static_cast<double>(in.scales()[0]) * static_cast<double>(scale(n)))));
  const StaticActivation activation(in);
  const CodeOutput output(out, tq::Clamp::relu(), R{});
  const QuantizedLinear whole(q, bias, activation, output), real(q, p.bias, activation, output);
  const auto y = p.run(whole, x);
  bool equal = y == p.run(whole, p.x) && y == p.run(real, x);
  for (std::size_t m = 0; m < p.rows; ++m)
    for (std::size_t n = 0; n < p.outputs; ++n) {
      const std::int32_t sum = p.sum(x, in.zero_points()[0], q, m, n) + bias[n];
      const auto multiplier = R::make(factor(in.scales()[0], scale(n), out.scales()[0]));
      const int zero = out.zero_points()[0], code = zero + R::apply(sum, multiplier);
      equal = equal && y[m * p.outputs + n] == std::clamp<int>(code, zero, Out::codes.max);
    }
  return equal;
}

double in_double(float x, float w, float y) {
  return static_cast<double>(x) * static_cast<double>(w) / static_cast<double>(y);
}
double in_float(float x, float w, float y) { return static_cast<double>(x * w / y); }

// Layers that were trained, as integers and as fake quantization has them: exact sums of what the
// codes stand for, clamped and quantized.
template <class Weights, class Gradient>
void check_trained(std::uint64_t seed) {
  Layer p(seed);
  p.rows = 64;
  p.x = inputs::normals(p.rows * p.inputs, seed);
  tq::FakeQuantize<Bytes> x_fake;
  tq::FakeQuantize<Weights, tq::MinMax, Gradient> w_fake;
  tq::FakeQuantize<SignedBytes> y_fake;
  std::vector<float> x(p.x.size()), w(p.w.size()), y(p.rows * p.outputs), wanted(y.size());
  x_fake.forward(p.x, x);
  w_fake.forward(p.weights(), TensorView<float>(w.data(), Shape{p.outputs, p.inputs}));
  const auto in = StaticActivation(x_fake);
  const auto q = tq::trained_weights(p.weights(), w_fake);
  std::vector<float> scales;
  for (const float s : q.params().scales()) scales.push_back(s);
  const auto bias = tq::quantize_bias(p.bias, in.scale(), scales);
  for (std::size_t m = 0; m < p.rows; ++m)
    for (std::size_t n = 0; n < p.outputs; ++n) {
      const double step =
          static_cast<double>(in.scale()) * static_cast<double>(scales[scales.size() == 1 ? 0 : n]);
      double sum = bias[n] * step;
      for (std::size_t k = 0; k < p.inputs; ++k)
        sum += static_cast<double>(x[m * p.inputs + k]) * static_cast<double>(w[n * p.inputs + k]);
      y[m * p.outputs + n] = static_cast<float>(std::max(sum, 0.0));
    }
  y_fake.forward(y, wanted);
  const QuantizedLinear layer(q, p.bias, in, CodeOutput(y_fake, tq::Clamp::relu()));
  const auto codes = p.run(layer, p.x);
  CHECK(codes == codes_of(y, y_fake.params()));
  std::vector<float> got(codes.size());
  tq::dequantize(codes, y_fake.params(), got);
  CHECK(got == wanted);
}

}  // namespace

TEST_CASE("codes of a layer with one scale of x are those of its sums, in every rounding") {
  const Layer p(11);
  const Bytes in(0.03f, 121), out(0.07f, 17);
  const SignedBytes signed_in(0.03f, -9), signed_out(0.05f, -100);
  using OneScale = tq::QuantParams<tq::uint8, tq::PerTensor, tq::Asymmetric>;
  CHECK(agrees<tq::RequantizeFloat, Weights>(p, in, out, in_float));
  CHECK(agrees<tq::RequantizeDouble, Weights>(p, signed_in, signed_out, in_double));
  CHECK(agrees<tq::RequantizeSingle, OneScale>(p, signed_in, out, in_double));
  CHECK(agrees<tq::RequantizeUp, OneScale>(p, in, signed_out, in_float));
  CHECK(agrees<tq::FloatProduct<tq::RequantizeDouble>, OneScale>(
      p, in, out, [](float x, float w, float y) {
        return static_cast<double>(x * w) / static_cast<double>(y);
      }));
}

TEST_CASE("a bias stays float32 in PyTorch's rounding") {
  const Layer p(12);
  const Bytes in(0.03f, 121);
  const SignedBytes out(0.05f, 3);
  const auto x = codes_of(p.x, in);
  const auto check = [&](const auto& q, bool one) {
    const QuantizedLinear layer(q, p.bias, StaticActivation(in),
                                CodeOutput(out, {}, tq::RequantizeTorch{}));
    const auto y = p.run(layer, x);
    bool equal = true;
    for (std::size_t m = 0; m < p.rows; ++m)
      for (std::size_t n = 0; n < p.outputs; ++n) {
        const volatile float step = in.scales()[0] * q.params().scales()[one ? 0 : n];
        const volatile float reciprocal = static_cast<float>(1.0 / static_cast<double>(step));
        const volatile float bias = one ? p.bias[n] * reciprocal : p.bias[n] / step;
        const volatile float sum = static_cast<float>(p.sum(x, 121, q, m, n)) + bias;
        const volatile float factor = step / out.scales()[0];
        const volatile float product = sum * factor;
        const float code = std::clamp(std::nearbyint(product), -131.0f, 124.0f) + 3;
        equal = equal && static_cast<float>(y[m * p.outputs + n]) == code;
      }
    CHECK(equal);
  };
  check(quantized_as<Weights>(p), false);
  check(quantized_as<SignedBytes>(p), true);
}

TEST_CASE("a layer that was trained has the codes of its fake quantized self") {
  check_trained<Weights, tq::ClippedStraightThrough>(13);
  check_trained<tq::QuantParams<tq::int4, tq::PerTensor, tq::Symmetric>, tq::DoReFa>(14);
}

TEST_CASE("floats of a layer with one scale of x are its scaled sums, clamped") {
  const Layer p(15);
  const SignedBytes in(0.02f, 5);
  const auto q = quantized_as<Weights>(p);
  const auto x = codes_of(p.x, in);
  std::vector<std::int32_t> steps(p.outputs, 300);
  const QuantizedLinear real(q, p.bias, StaticActivation(in), FloatOutput{tq::Clamp{-0.5f, 1.0f}}),
      whole(q, steps, StaticActivation(in), FloatOutput{tq::Clamp::relu6()});
  const auto y = p.run(real, x), z = p.run(whole, p.x);
  CHECK(y == p.run(real, p.x));
  bool equal = true;
  for (std::size_t m = 0; m < p.rows; ++m)
    for (std::size_t n = 0; n < p.outputs; ++n) {
      const std::int32_t sum = p.sum(x, 5, q, m, n);
      const float step = in.scales()[0] * q.params().scales()[n];
      const volatile float product = static_cast<float>(sum) * step;
      equal = equal && y[m * p.outputs + n] == std::clamp(product + p.bias[n], -0.5f, 1.0f) &&
              z[m * p.outputs + n] == std::clamp(static_cast<float>(sum + 300) * step, 0.0f, 6.0f);
    }
  CHECK(equal);
}

TEMPLATE_TEST_CASE("rows with zero points of their own are summed without them", "", tq::uint8,
                   tq::int8) {
  Layer p(16);
  for (std::size_t i = 0; i < p.x.size(); ++i) p.x[i] += static_cast<float>(i / p.inputs) - 2;
  const auto q = quantized_as<SignedBytes>(p);
  const QuantizedLinear layer(q, p.bias, tq::DynamicActivation<TestType, tq::Asymmetric>{});
  const auto y = p.run(layer, p.x);
  bool equal = true;
  for (std::size_t m = 0; m < p.rows; ++m) {
    using Row = tq::QuantParams<TestType, tq::PerTensor, tq::Asymmetric>;
    const auto row = tq::quantize_dynamic<Row, tq::Unpacked>(
        TensorView<const float>(&p.x[m * p.inputs], Shape{p.inputs}));
    std::vector<typename Row::code_type> x(p.rows * p.inputs);
    std::copy(row.codes().begin(), row.codes().end(),
              x.begin() + static_cast<std::ptrdiff_t>(m * p.inputs));
    for (std::size_t n = 0; n < p.outputs; ++n) {
      const std::int32_t sum = p.sum(x, row.params().zero_points()[0], q, m, n);
      const volatile float product =
          static_cast<float>(sum) * (row.params().scales()[0] * q.params().scales()[0]);
      equal = equal && y[m * p.outputs + n] == product + p.bias[n];
    }
  }
  CHECK(equal);
}

TEST_CASE("without inputs a layer gives its biases, without outputs or rows nothing") {
  const std::vector<float> bias{1.5f, -2.25f};
  const auto none = tq::quantize_dynamic<Weights>(TensorView<const float>(nullptr, Shape{2, 0}));
  std::vector<float> y(6, 9.0f);
  const TensorView<const float> x(nullptr, Shape{3, 0});
  const TensorView<float> to(y.data(), Shape{3, 2});
  const std::vector<float> wanted{1.5f, -2.25f, 1.5f, -2.25f, 1.5f, -2.25f};
  QuantizedLinear(none, bias).forward(x, to);
  CHECK(y == wanted);
  y.assign(6, 9.0f);
  QuantizedLinear(none, bias, StaticActivation(Bytes(0.1f, 3))).forward(x, to);
  CHECK(y == wanted);
  std::vector<std::uint8_t> codes(6, 99);
  QuantizedLinear(none, bias, StaticActivation(Bytes(0.1f, 3)), CodeOutput(Bytes(0.5f, 10)))
      .forward(x, TensorView<std::uint8_t>(codes.data(), Shape{3, 2}));
  CHECK(codes == std::vector<std::uint8_t>{13, 6, 13, 6, 13, 6});

  const auto no_outputs =
      tq::quantize_dynamic<Weights>(TensorView<const float>(nullptr, Shape{0, 4}));
  const std::vector<float> some(12);
  QuantizedLinear(no_outputs)
      .forward(TensorView<const float>(some.data(), Shape{3, 4}),
               TensorView<float>(nullptr, Shape{3, 0}));
  QuantizedLinear(no_outputs, std::vector<float>{}, StaticActivation(Bytes(0.1f, 3)),
                  CodeOutput(Bytes(0.5f, 10)))
      .forward(TensorView<const float>(some.data(), Shape{3, 4}),
               TensorView<std::uint8_t>(nullptr, Shape{3, 0}));
  QuantizedLinear(none, bias, StaticActivation(Bytes(0.1f, 3)), CodeOutput(Bytes(0.5f, 10)))
      .forward(TensorView<const float>(nullptr, Shape{0, 0}),
               TensorView<std::uint8_t>(nullptr, Shape{0, 2}));
  QuantizedLinear(none, bias)
      .forward(TensorView<const float>(nullptr, Shape{0, 0}),
               TensorView<float>(nullptr, Shape{0, 2}));
  QuantizedLinear(no_outputs, std::vector<float>{}, StaticActivation(Bytes(0.1f, 3)))
      .forward(TensorView<const float>(nullptr, Shape{0, 4}),
               TensorView<float>(nullptr, Shape{0, 0}));
}

TEST_CASE("layers that cannot be right are refused when they are made") {
  const Layer p(17);
  const auto q = p.quantized();
  const StaticActivation in(Bytes(0.1f, 3));
  auto bias = p.bias;
  bias[4] = 1e30f;
  test::raises(tq::errc::bad_argument, {"2^31 steps", "1e+30 for output 4"},
               [&] { QuantizedLinear(q, bias, in, CodeOutput(Bytes(0.5f, 10))); });
  bias[4] = std::numeric_limits<float>::quiet_NaN();
  test::raises(tq::errc::not_finite, {"finite biases", "nan for output 4"},
               [&] { QuantizedLinear(q, bias); });
  test::raises(tq::errc::shape_mismatch, {"0 or 21 biases", "3"},
               [&] { QuantizedLinear(q, std::vector<std::int32_t>(3), in); });
  std::vector<std::int32_t> steps(p.outputs);
  test::raises(tq::errc::bad_argument, {"biases of float32", "DynamicActivation"},
               [&] { QuantizedLinear(q, steps); });
  steps[20] = std::numeric_limits<std::int32_t>::min();
  test::raises(tq::errc::bad_argument, {"sums of 32 bits", "output 20"},
               [&] { QuantizedLinear(q, steps, in); });
  test::raises(tq::errc::bad_argument, {"sums of 32 bits", "output 20"},
               [&] { QuantizedLinear(q, steps, in, CodeOutput(Bytes(0.5f, 10))); });
  test::raises(tq::errc::bad_argument, {"a clamp", "1 to 0"},
               [&] { QuantizedLinear(q, {}, in, FloatOutput{tq::Clamp{1.0f, 0.0f}}); });
  using Groups = tq::QuantParams<tq::int8, tq::PerGroup<10>, tq::Symmetric>;
  test::raises(tq::errc::unsupported, {"one for each output", "105"},
               [&] { QuantizedLinear(tq::quantize_dynamic<Groups>(p.weights())); });
  test::raises(tq::errc::no_data, {"params"}, [&] { StaticActivation(tq::FakeQuantize<Bytes>()); });
}

TEST_CASE("scales whose product is no float are refused before anything is written") {
  const std::vector<float> w{1e25f, 1.0f}, x{1e25f, 0.0f};
  const auto q = tq::quantize_dynamic<Weights>(TensorView<const float>(w.data(), Shape{2, 1}));
  std::vector<float> y(4, 3.0f);
  test::raises(tq::errc::bad_scale, {"whose product is finite"}, [&] {
    QuantizedLinear(q).forward(TensorView<const float>(x.data(), Shape{2, 1}),
                               TensorView<float>(y.data(), Shape{2, 2}));
  });
  CHECK(y == std::vector<float>(4, 3.0f));
  test::raises(tq::errc::bad_scale, {"whose product is finite"},
               [&] { QuantizedLinear(q, {}, StaticActivation(Bytes(1e25f, 0))); });
}

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

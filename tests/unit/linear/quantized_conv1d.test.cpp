// SPDX-License-Identifier: MIT
#include <tq/linear/quantized_conv1d.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"
#include "support/thread_executor.hpp"

namespace {
using tq::QuantizedConv1d;
using tq::Shape;
using tq::StaticActivation;
using tq::TensorView;
using Weights = tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::Symmetric>;
using Bytes = tq::QuantParams<tq::uint8, tq::PerTensor, tq::Asymmetric>;

// Signals of 4 channels, 20 long; 6 outputs in 2 groups, a kernel of 3.
constexpr std::size_t signals = 2, channels = 4, length = 20, outputs = 6, kernel = 3;
constexpr tq::Conv1dOptions options{
    .stride = 2, .dilation = 3, .pad_before = 2, .pad_after = 1, .groups = 2};
constexpr std::size_t places = (2 + length + 1 - 7) / 2 + 1;
}  // namespace

TEST_CASE("QuantizedConv1d: the sum under the kernel, for channels first and last") {
  const auto w = inputs::normals(outputs * 2 * kernel, 1);
  const auto bias = inputs::normals(outputs, 2);
  inputs::Random r(3);
  std::vector<std::uint8_t> x(signals * channels * length), x_last(x.size());
  for (auto& v : x) v = static_cast<std::uint8_t>(r.between(0, 255));
  for (std::size_t i = 0; i < x.size(); ++i)
    x_last[i / (channels * length) * channels * length + i % length * channels +
           i / length % channels] = x[i];
  std::vector<float> w_last(w.size());
  for (std::size_t i = 0; i < w.size(); ++i)
    w_last[i / (2 * kernel) * 2 * kernel + i % kernel * 2 + i / kernel % 2] = w[i];
  const StaticActivation in(Bytes(0.1f, 90));
  const auto q = tq::quantize_dynamic<Weights, tq::Unpacked>(
      TensorView<const float>(w.data(), Shape{outputs, 2, kernel}));
  auto with_last = options;
  with_last.channels = tq::Channels::last;
  const QuantizedConv1d first(q, bias, options, in),
      last(tq::quantize_dynamic<Weights>(
               TensorView<const float>(w_last.data(), Shape{outputs, kernel, 2})),
           bias, with_last, in);
  std::vector<float> y(signals * outputs * places), z(y.size());
  first.forward(TensorView<const std::uint8_t>(x.data(), Shape{signals, channels, length}),
                TensorView<float>(y.data(), Shape{signals, outputs, places}));
  last.forward(TensorView<const std::uint8_t>(x_last.data(), Shape{signals, length, channels}),
               TensorView<float>(z.data(), Shape{signals, places, outputs}));
  bool equal = true;
  for (std::size_t i = 0; i < signals; ++i)
    for (std::size_t n = 0; n < outputs; ++n)
      for (std::size_t p = 0; p < places; ++p) {
        std::int32_t sum = 0;
        for (std::size_t c = 0; c < 2; ++c)
          for (std::size_t k = 0; k < kernel; ++k) {
            const std::size_t at = 2 * p + 3 * k;
            if (at >= 2 && at < 2 + length)
              sum += (x[(i * channels + n / 3 * 2 + c) * length + at - 2] - 90) *
                     q.codes()[(n * 2 + c) * kernel + k];
          }
        const volatile float product = static_cast<float>(sum) * (0.1f * q.params().scales()[n]);
        const float wanted = product + bias[n];
        equal = equal && y[(i * outputs + n) * places + p] == wanted &&
                z[(i * places + p) * outputs + n] == wanted;
      }
  CHECK(equal);
}

TEST_CASE("QuantizedConv1d: its filters have a height of 1, and its options are those given") {
  const auto w = inputs::normals(outputs * 2 * kernel, 1);
  auto given = options;
  given.channels = tq::Channels::last;
  const QuantizedConv1d layer(
      tq::quantize_dynamic<Weights>(TensorView<const float>(w.data(), Shape{outputs, kernel, 2})),
      {}, given);
  CHECK(layer.options() == given);
  CHECK(QuantizedConv1d(tq::quantize_dynamic<Weights>(
                            TensorView<const float>(w.data(), Shape{outputs, 2, kernel})))
            .options() == tq::Conv1dOptions{});
  CHECK(layer.filters().kernel() == std::array<std::size_t, 2>{1, kernel});
  CHECK(layer.filters().groups() == 2);
  CHECK(layer.filters().outputs() == outputs);
  CHECK(layer.filters().channels_of_group() == 2);
}

TEST_CASE("QuantizedConv1d: groups of one channel are depthwise, on any number of threads") {
  const auto w = inputs::normals(channels * kernel, 4),
             x = inputs::normals(signals * channels * length, 5);
  const auto q = tq::quantize_dynamic<Weights, tq::Unpacked>(
      TensorView<const float>(w.data(), Shape{channels, 1, kernel}));
  auto depthwise = options;
  depthwise.groups = channels;
  const Bytes params(0.05f, 120);
  const QuantizedConv1d layer(q, {}, depthwise, StaticActivation(params));
  CHECK(layer.filters().is_depthwise());
  std::vector<std::uint8_t> codes(x.size());
  tq::quantize(x, params, codes);
  std::vector<float> wanted;
  for (std::size_t i = 0; i < signals * channels; ++i)
    for (std::size_t p = 0; p < places; ++p) {
      std::int32_t sum = 0;
      for (std::size_t k = 0; k < kernel; ++k) {
        const std::size_t at = 2 * p + 3 * k;
        if (at >= 2 && at < 2 + length)
          sum += (codes[i * length + at - 2] - 120) * q.codes()[i % channels * kernel + k];
      }
      wanted.push_back(static_cast<float>(sum) * (0.05f * q.params().scales()[i % channels]));
    }
  for (const std::size_t threads : {1u, 2u, 4u}) {
    std::vector<float> y(wanted.size());
    layer.forward(TensorView<const float>(x.data(), Shape{signals, channels, length}),
                  TensorView<float>(y.data(), Shape{signals, channels, places}),
                  test::Threads{threads});
    CHECK(y == wanted);
  }
}

TEST_CASE("QuantizedConv1d: shapes of other ranks are refused") {
  const std::vector<float> w(12, 1.0f);
  test::raises(tq::errc::shape_mismatch, {"QuantizedConv1d", "three axes", "[3, 4]"}, [&] {
    QuantizedConv1d(tq::quantize_dynamic<Weights>(TensorView<const float>(w.data(), Shape{3, 4})));
  });
  const QuantizedConv1d layer(
      tq::quantize_dynamic<Weights>(TensorView<const float>(w.data(), Shape{3, 2, 2})));
  std::vector<float> y(9, 5.0f);
  test::raises(tq::errc::shape_mismatch, {"three axes", "[2, 6]"}, [&] {
    layer.forward(TensorView<const float>(w.data(), Shape{2, 6}),
                  TensorView<float>(y.data(), Shape{1, 3, 3}));
  });
  test::raises(tq::errc::shape_mismatch, {"[1, 3, 1, 5]", "[1, 3, 1, 3]"}, [&] {
    layer.forward(TensorView<const float>(w.data(), Shape{1, 2, 6}),
                  TensorView<float>(y.data(), Shape{1, 3, 3}));
  });
  CHECK(y == std::vector<float>(9, 5.0f));
}

// SPDX-License-Identifier: MIT
// Depthwise convolutions of codes into codes, beside one of float32 in plain loops and a copy of
// the input.

#include <tq/linear/quantized_conv2d.hpp>
#include <tq/ops/quantize_dynamic.hpp>

#include "products.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

// Images of a square; a kernel of 3 x 3 with a padding of 1.
struct Image {
  std::size_t side, channels;
  explicit Image(const benchmark::State& state)
      : side(static_cast<std::size_t>(state.range(0))),
        channels(static_cast<std::size_t>(state.range(1))) {}
  [[nodiscard]] std::size_t size() const { return side * side * channels; }
  [[nodiscard]] std::size_t products() const { return 9 * size(); }
};

void integers(benchmark::State& state, tq::Channels channels) {
  using Weights = tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::Symmetric>;
  using Codes = tq::QuantParams<tq::uint8, tq::PerTensor, tq::Asymmetric>;
  const Image image(state);
  const std::size_t n = image.channels, side = image.side;
  const bool first = channels == tq::Channels::first;
  std::vector<float> w(9 * n);
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i % 13) - 6.0f;
  const tq::QuantizedConv2d layer(
      tq::quantize_dynamic<Weights>(tq::TensorView<const float>(
          w.data(), first ? tq::Shape{n, 1, 3, 3} : tq::Shape{n, 3, 3, 1})),
      {},
      {.geometry = {.pads_before = {1, 1}, .pads_after = {1, 1}},
       .groups = n,
       .channels = channels},
      tq::StaticActivation(Codes(0.02f, 131)), tq::CodeOutput(Codes(0.2f, 3), tq::Clamp::relu6()));
  std::vector<std::uint8_t> x(image.size()), y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::uint8_t>(i % 251);
  const tq::Shape shape = first ? tq::Shape{1, n, side, side} : tq::Shape{1, side, side, n};
  for (auto _ : state) {
    layer.forward(tq::TensorView<const std::uint8_t>(x.data(), shape),
                  tq::TensorView<std::uint8_t>(y.data(), shape));
    benchmark::ClobberMemory();
  }
  tq_bench::count_products(state, image.products(), x.size() + y.size());
}
void channels_last(benchmark::State& state) { integers(state, tq::Channels::last); }
void channels_first(benchmark::State& state) { integers(state, tq::Channels::first); }

// Channels last, without padding: what a compiler makes of loops.
void floats(benchmark::State& state) {
  const Image image(state);
  const std::size_t n = image.channels, wide = image.side + 2;
  const std::vector<float> x(wide * wide * n, 1.0f), w(9 * n, 0.5f);
  std::vector<float> y(image.size());
  for (auto _ : state) {
    for (std::size_t place = 0; place < image.side * image.side; ++place) {
      float* to = y.data() + place * n;
      std::fill_n(to, n, 0.0f);
      for (std::size_t tap = 0; tap < 9; ++tap) {
        const std::size_t h = place / image.side + tap / 3, k = place % image.side + tap % 3;
        const float* __restrict from = x.data() + (h * wide + k) * n;
        const float* __restrict by = w.data() + tap * n;
        for (std::size_t c = 0; c < n; ++c) to[c] += from[c] * by[c];
      }
    }
    benchmark::ClobberMemory();
  }
  tq_bench::count_products(state, image.products(), 4 * (x.size() + y.size()));
}

void copy(benchmark::State& state) {
  const Image image(state);
  const std::vector<std::uint8_t> x(image.size(), 1);
  std::vector<std::uint8_t> y(x.size());
  for (auto _ : state) {
    std::copy(x.begin(), x.end(), y.begin());
    benchmark::ClobberMemory();
  }
  tq_bench::count_products(state, image.products(), x.size() + y.size());
}

BENCHMARK(channels_last)
    ->Name("depthwise/channels_last")
    ->Args({56, 128})
    ->Args({112, 32})
    ->Args({28, 120});
BENCHMARK(channels_first)->Name("depthwise/channels_first")->Args({56, 128})->Args({112, 32});
BENCHMARK(floats)->Name("depthwise/floats")->Args({56, 128})->Args({112, 32});
BENCHMARK(copy)->Name("depthwise/copy")->Args({56, 128})->Args({112, 32});

}  // namespace

// SPDX-License-Identifier: MIT
// Products of floats and weights of few bits, and what instructions allow them; `matmul/read` is
// what memory does, of 10 MiB: the weights of 4096 x 4096 in 4 bits and groups of 32, with their
// scales.

#include <tq/arch/group_dot.hpp>
#include <tq/core/formats.hpp>
#include <tq/linear/grouped_linear.hpp>
#include <tq/ops/quantize_dynamic.hpp>

#include "products.hpp"
#include "support.hpp"

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

// A layer by rows, outputs and inputs; bytes are those of the packed weights.
template <class Params, class Activations>
void layer(benchmark::State& state) {
  const auto rows = static_cast<std::size_t>(state.range(0)),
             outputs = static_cast<std::size_t>(state.range(1)),
             inputs = static_cast<std::size_t>(state.range(2));
  const float* const values = tq_bench::source();
  const tq::GroupedLinear<Activations> linear(
      tq::quantize_dynamic<Params>(tq::ConstTensorView(values, {outputs, inputs})));
  std::vector<float> y(rows * outputs);
  for (auto _ : state) {
    linear.forward(tq::ConstTensorView(values, {rows, inputs}),
                   tq::TensorView<float>(y.data(), {rows, outputs}));
    benchmark::ClobberMemory();
  }
  tq_bench::count_products(state, rows * outputs * inputs, linear.weights().bytes());
}

// Products of registers, without memory.
void peak(benchmark::State& state) {
  using dot = tq::arch::group_dot<tq::arch::best_group<tq::arch::native>>;
  constexpr std::size_t registers = 12, times = 1000;
  std::vector<std::uint8_t> bytes(4 * dot::width, 3);
  const std::int8_t four[4] = {1, -2, 3, -4};
  auto a = dot::load(bytes.data());
  auto x = dot::splat(four);
  typename dot::parts sums[registers];
  for (auto& s : sums) s = dot::begin(dot::all(0));
  for (auto _ : state)
    for (std::size_t i = 0; i < times; ++i) {
      a = tq::arch::kept(a);
      TQ_UNROLL
      for (std::size_t k = 0; k < registers; ++k) sums[k] = dot::template add<false>(sums[k], a, x);
    }
  float out[registers * dot::width];
  for (std::size_t k = 0; k < registers; ++k)
    dot::write(out + k * dot::width, dot::value(dot::template end<false>(dot::all(0), sums[k])));
  benchmark::DoNotOptimize(out);
  tq_bench::count_products(state, times * registers * 4 * dot::width, 0);
}

template <class Type, int Size>
using Weights = tq::QuantParams<Type, tq::PerGroup<Size>, tq::Symmetric>;
template <class Type, int Size>
using WithZeros = tq::QuantParams<Type, tq::PerGroup<Size>, tq::Asymmetric>;

void shapes(benchmark::internal::Benchmark* b) {
  b->Args({512, 1024, 1024})->Args({1, 4096, 4096});
}

BENCHMARK(peak)->Name("weight_only/peak/registers/12000");
BENCHMARK(layer<Weights<tq::int4, 32>, tq::Int8PerRow>)
    ->Name("weight_only/int4_group_32/int8_per_row")
    ->Apply(shapes);
BENCHMARK(layer<Weights<tq::int4, 32>, tq::Int8PerGroup>)
    ->Name("weight_only/int4_group_32/int8_per_group")
    ->Apply(shapes);
BENCHMARK(layer<WithZeros<tq::uint4, 128>, tq::Int8PerRow>)
    ->Name("weight_only/uint4_group_128/int8_per_row")
    ->Apply(shapes);
BENCHMARK(layer<tq::mxfp4, tq::Int8PerRow>)->Name("weight_only/mxfp4/int8_per_row")->Apply(shapes);
BENCHMARK(layer<Weights<tq::int4, 32>, tq::FloatActivations>)
    ->Name("weight_only/int4_group_32/float32")
    ->Args({1, 512, 512})
    ->Apply(shapes);
BENCHMARK(layer<tq::nf4_64, tq::FloatActivations>)
    ->Name("weight_only/nf4_group_64/float32")
    ->Apply(shapes);

}  // namespace

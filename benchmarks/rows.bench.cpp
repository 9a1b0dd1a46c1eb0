// SPDX-License-Identifier: MIT
// Rows that are shorter and longer than those of the other benchmarks, to memory as `malloc` gives
// it: 16 bytes after a place where registers are aligned.

#include "support.hpp"

#include <tq/core/make_params.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/fake_quantize.hpp>
#include <tq/ops/quantize.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace {

using namespace tq_bench;

constexpr std::size_t allocated = 16;

template <class Granularity>
using P = tq::QuantParams<tq::int8, Granularity, tq::Symmetric>;

template <class Granularity>
P<Granularity> params_for(const tq::Shape& shape) {
  return tq::make_params<P<Granularity>>(
      {}, std::vector<float>(tq::param_count(Granularity{}, shape), 0.03f));
}

// A matrix with rows of `Columns` elements.
template <std::size_t Columns>
tq::Shape shape_of(const benchmark::State& state) {
  return {static_cast<std::size_t>(state.range(0)) / Columns, Columns};
}

template <class Granularity, std::size_t Columns>
void quantize(benchmark::State& state) {
  const tq::Shape shape = shape_of<Columns>(state);
  const auto params = params_for<Granularity>(shape);
  const tq::TensorView<std::int8_t> q(target<std::int8_t>() + allocated, shape);
  run(state, 5, [&] { tq::quantize_unchecked(tq::ConstTensorView(source(), shape), params, q); });
}

template <class Granularity, std::size_t Columns>
void dequantize(benchmark::State& state) {
  const tq::Shape shape = shape_of<Columns>(state);
  const auto params = params_for<Granularity>(shape);
  const tq::TensorView<const std::int8_t> q(reinterpret_cast<const std::int8_t*>(source()), shape);
  const tq::TensorView<float> y(target<float>() + allocated / sizeof(float), shape);
  run(state, 5, [&] { tq::dequantize_unchecked(q, params, y); });
}

template <class Granularity, std::size_t Columns>
void fake_quantize(benchmark::State& state) {
  const tq::Shape shape = shape_of<Columns>(state);
  const auto params = params_for<Granularity>(shape);
  const tq::TensorView<float> y(target<float>() + allocated / sizeof(float), shape);
  run(state, 8,
      [&] { tq::fake_quantize_unchecked(tq::ConstTensorView(source(), shape), params, y); });
}

// A square matrix whose rows lie a column apart.
tq::Shape square(const benchmark::State& state) {
  const auto side = static_cast<std::size_t>(std::sqrt(static_cast<double>(state.range(0))));
  return {side, side};
}
tq::Strides turned(const tq::Shape& shape) { return {1, static_cast<std::ptrdiff_t>(shape[0])}; }

void quantize_turned(benchmark::State& state) {
  const tq::Shape shape = square(state);
  const auto params = params_for<tq::PerTensor>(shape);
  const tq::ConstTensorView x(source(), shape, turned(shape));
  const tq::TensorView<std::int8_t> q(target<std::int8_t>(), shape);
  run(state, 5, [&] { tq::quantize_unchecked(x, params, q); });
}
void dequantize_turned(benchmark::State& state) {
  const tq::Shape shape = square(state);
  const auto params = params_for<tq::PerTensor>(shape);
  const tq::TensorView<const std::int8_t> q(reinterpret_cast<const std::int8_t*>(source()), shape,
                                            turned(shape));
  const tq::TensorView<float> y(target<float>(), shape);
  run(state, 5, [&] { tq::dequantize_unchecked(q, params, y); });
}
void fake_quantize_turned(benchmark::State& state) {
  const tq::Shape shape = square(state);
  const auto params = params_for<tq::PerTensor>(shape);
  const tq::ConstTensorView x(source(), shape, turned(shape));
  const tq::TensorView<float> y(target<float>(), shape);
  run(state, 8, [&] { tq::fake_quantize_unchecked(x, params, y); });
}

// A call for a few values.
void quantize_call(benchmark::State& state) {
  const tq::Shape shape{static_cast<std::size_t>(state.range(0))};
  const auto params = params_for<tq::PerTensor>(shape);
  const tq::TensorView<std::int8_t> q(target<std::int8_t>(), shape);
  run(state, 5, [&] { tq::quantize_unchecked(tq::ConstTensorView(source(), shape), params, q); });
}

void dequantize_call(benchmark::State& state) {
  const tq::Shape shape{static_cast<std::size_t>(state.range(0))};
  const auto params = params_for<tq::PerTensor>(shape);
  const tq::TensorView<const std::int8_t> q(reinterpret_cast<const std::int8_t*>(source()), shape);
  const tq::TensorView<float> y(target<float>(), shape);
  run(state, 5, [&] { tq::dequantize_unchecked(q, params, y); });
}
void fake_quantize_call(benchmark::State& state) {
  const tq::Shape shape{static_cast<std::size_t>(state.range(0))};
  const auto params = params_for<tq::PerTensor>(shape);
  const tq::TensorView<float> y(target<float>(), shape);
  run(state, 8,
      [&] { tq::fake_quantize_unchecked(tq::ConstTensorView(source(), shape), params, y); });
}

#define TQ_ROWS(name, granularity, columns)           \
  BENCHMARK(quantize<granularity, columns>)           \
      ->Name("quantize/int8/" name "/allocated")      \
      ->Apply(sizes);                                 \
  BENCHMARK(dequantize<granularity, columns>)         \
      ->Name("dequantize/int8/" name "/allocated")    \
      ->Apply(sizes);                                 \
  BENCHMARK(fake_quantize<granularity, columns>)      \
      ->Name("fake_quantize/int8/" name "/allocated") \
      ->Apply(sizes)

using Axis0 = tq::PerChannel<0>;
using AxisLast = tq::PerChannel<-1>;
using Group32 = tq::PerGroup<32>;
TQ_ROWS("per_channel_0/rows_of_9", Axis0, 9);
TQ_ROWS("per_channel_0/rows_of_300", Axis0, 300);
TQ_ROWS("per_channel_0/rows_of_256", Axis0, 256);
TQ_ROWS("per_channel_0/rows_of_1024", Axis0, 1024);
TQ_ROWS("per_channel_last/rows_of_256", AxisLast, 256);
TQ_ROWS("per_channel_last/rows_of_4096", AxisLast, 4096);
TQ_ROWS("per_group_32/rows_of_1024", Group32, 1024);

BENCHMARK(quantize_turned)->Name("quantize/int8/per_tensor/turned_square")->Apply(sizes);
BENCHMARK(dequantize_turned)->Name("dequantize/int8/per_tensor/turned_square")->Apply(sizes);
BENCHMARK(fake_quantize_turned)->Name("fake_quantize/int8/per_tensor/turned_square")->Apply(sizes);
BENCHMARK(quantize_call)->Name("quantize/int8/per_tensor/call")->Arg(64)->Arg(1024);
BENCHMARK(dequantize_call)->Name("dequantize/int8/per_tensor/call")->Arg(64)->Arg(1024);
BENCHMARK(fake_quantize_call)->Name("fake_quantize/int8/per_tensor/call")->Arg(64)->Arg(1024);

}  // namespace

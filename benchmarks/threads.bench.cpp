// SPDX-License-Identifier: MIT
// The same operations on two threads; of observers, which only read, with those on one: data that
// two caches hold.

#include "support.hpp"

#include <tq/interop/openmp.hpp>
#include <tq/observe/histogram.hpp>
#include <tq/observe/min_max.hpp>
#include <tq/observe/observer.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/fake_quantize.hpp>
#include <tq/ops/quantize.hpp>

#include <chrono>

namespace {

using namespace tq_bench;

using Params = tq::QuantParams<tq::int8, tq::PerTensor, tq::Asymmetric>;
const Params params(0.03f, 3);

tq::Shape shape_of(const benchmark::State& state) {
  return {static_cast<std::size_t>(state.range(0)) / columns, columns};
}

// A core that slept takes a while to be as fast as it can, so both are busy for that long first.
template <class F>
void run_awake(benchmark::State& state, double bytes_per_element, F&& f) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
  while (std::chrono::steady_clock::now() < end) f();
  run(state, bytes_per_element, f);
}

// The upper limit of two threads on this machine: a copy.
void copy(benchmark::State& state) {
  const auto half = static_cast<std::size_t>(state.range(0)) / 2;
  const tq::interop::OpenMp two{2};
  run_awake(state, 8, [&] {
    two(2, [&](std::size_t i) {
      std::memcpy(target<float>() + i * half, source() + i * half, half * sizeof(float));
    });
  });
}

void quantize(benchmark::State& state) {
  const tq::ConstTensorView x(source(), shape_of(state));
  const tq::TensorView<std::int8_t> q(target<std::int8_t>(), shape_of(state));
  const tq::interop::OpenMp two{2};
  run_awake(state, 5, [&] { tq::quantize_unchecked(x, params, q, tq::numerics::onnx{}, two); });
}

void dequantize(benchmark::State& state) {
  const tq::TensorView<const std::int8_t> q(reinterpret_cast<const std::int8_t*>(source()),
                                            shape_of(state));
  const tq::TensorView<float> y(target<float>(), shape_of(state));
  const tq::interop::OpenMp two{2};
  run_awake(state, 5, [&] { tq::dequantize_unchecked(q, params, y, two); });
}

void fake_quantize(benchmark::State& state) {
  const tq::ConstTensorView x(source(), shape_of(state));
  const tq::TensorView<float> y(target<float>(), shape_of(state));
  const tq::interop::OpenMp two{2};
  run_awake(state, 8,
            [&] { tq::fake_quantize_unchecked(x, params, y, tq::numerics::onnx{}, two); });
}

// One more batch for an observer that knows the range.
template <class Accumulator, class Executor>
void observe(benchmark::State& state, const Executor& executor) {
  const tq::ConstTensorView x(source(), shape_of(state));
  tq::Observer<Accumulator, tq::PerTensor> seen;
  run_awake(state, 4, [&] { seen.observe(x, executor); });
}
template <class Accumulator>
void on_one(benchmark::State& state) {
  observe<Accumulator>(state, tq::serial);
}
template <class Accumulator>
void on_two(benchmark::State& state) {
  observe<Accumulator>(state, tq::interop::OpenMp{2});
}

BENCHMARK(on_one<tq::MinMax>)->Name("observer/min_max/one_thread")->Apply(two_caches);
BENCHMARK(on_two<tq::MinMax>)->Name("observer/min_max/two_threads")->Apply(two_caches);
BENCHMARK(on_one<tq::Histogram>)->Name("observer/histogram/one_thread")->Apply(two_caches);
BENCHMARK(on_two<tq::Histogram>)->Name("observer/histogram/two_threads")->Apply(two_caches);
BENCHMARK(copy)->Name("memcpy/float32/two_threads")->Apply(sizes);
BENCHMARK(quantize)->Name("quantize/int8/per_tensor/asymmetric/divide/two_threads")->Apply(sizes);
BENCHMARK(dequantize)->Name("dequantize/int8/per_tensor/asymmetric/two_threads")->Apply(sizes);
BENCHMARK(fake_quantize)
    ->Name("fake_quantize/int8/per_tensor/asymmetric/divide/two_threads")
    ->Apply(sizes);

}  // namespace

// SPDX-License-Identifier: MIT
// The passes of a FakeQuantize layer: x to y, and x and dL/dy to dL/dx, beside a sum of two arrays
// with the same streams.

#include "support.hpp"

#include <tq/observe/mean_abs.hpp>
#include <tq/train/fake_quantize.hpp>
#include <tq/train/learned_affine.hpp>
#include <tq/train/learned_step.hpp>

namespace {

using namespace tq_bench;

// Not a multiple of 4 KiB away from the source and the target.
const float* upstream() {
  static const Pages<float> pages = [] {
    Pages<float> p(static_cast<std::size_t>(in_memory) + 1024, 2112);
    std::memcpy(p.data(), source(), static_cast<std::size_t>(in_memory) * sizeof(float));
    return p;
  }();
  return pages.data();
}

void three_streams(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const float *x = source(), *gy = upstream();
  float* gx = target<float>();
  run(state, 12, [&] {
    for (std::size_t i = 0; i < n; ++i) gx[i] = x[i] + gy[i];
  });
}

#if TQ_HAS_SIMD
// The same with stores that leave out the cache, as the kernels have it for large tensors.
void three_streams_streamed(benchmark::State& state) {
  using L = tq::arch::lanes<tq::arch::native>;
  using F = tq::arch::floats<tq::arch::native>;
  const auto n = static_cast<std::size_t>(state.range(0));
  const float *x = source(), *gy = upstream();
  float* gx = target<float>();
  run(state, 12, [&] {
    for (std::size_t i = 0; i < n; i += F::size)
      L::stream(gx + i, F::load_unaligned(x + i) + F::load_unaligned(gy + i));
    L::fence();
  });
}
BENCHMARK(three_streams_streamed)->Name("sum/float32/streamed")->Apply(sizes);
#endif

template <class Layer>
void forward(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const tq::Shape shape{n / columns, columns};
  const tq::ConstTensorView x(source(), shape);
  const tq::TensorView<float> y(target<float>(), shape);
  Layer layer;
  layer.forward(x, y);
  run(state, 8, [&] { std::as_const(layer).forward(x, y); });
}

template <class Layer>
void backward(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const tq::Shape shape{n / columns, columns};
  const tq::ConstTensorView x(source(), shape), gy(upstream(), shape);
  const tq::TensorView<float> gx(target<float>(), shape);
  Layer layer;
  layer.forward(x, gx);
  run(state, 12, [&] { benchmark::DoNotOptimize(layer.backward(x, gy, gx).data()); });
}

using Tensor = tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>;
using Axis0 = tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::Symmetric>;
using AxisLast = tq::QuantParams<tq::int8, tq::PerChannel<-1>, tq::Symmetric>;
using Affine = tq::QuantParams<tq::int8, tq::PerTensor, tq::Asymmetric>;
template <class P>
using Clipped = tq::FakeQuantize<P>;
template <class P>
using Lsq = tq::FakeQuantize<P, tq::MeanAbs, tq::LearnedStep<>, tq::LearnedStepCalibrator>;
using Learnable = tq::FakeQuantize<Affine, tq::MinMax, tq::LearnedAffine<>>;

BENCHMARK(three_streams)->Name("sum/float32")->Apply(sizes);
BENCHMARK(forward<Clipped<Tensor>>)
    ->Name("forward/int8/per_tensor/clipped_straight_through")
    ->Apply(sizes);
BENCHMARK(backward<Clipped<Tensor>>)
    ->Name("backward/int8/per_tensor/clipped_straight_through")
    ->Apply(sizes);
BENCHMARK(backward<Clipped<AxisLast>>)
    ->Name("backward/int8/per_channel_last/clipped_straight_through")
    ->Apply(sizes);
BENCHMARK(backward<Lsq<Tensor>>)->Name("backward/int8/per_tensor/learned_step")->Apply(sizes);
BENCHMARK(backward<Lsq<Axis0>>)->Name("backward/int8/per_channel_0/learned_step")->Apply(sizes);
BENCHMARK(backward<Lsq<AxisLast>>)
    ->Name("backward/int8/per_channel_last/learned_step")
    ->Apply(sizes);
BENCHMARK(backward<Learnable>)->Name("backward/int8/per_tensor/learned_affine")->Apply(sizes);

}  // namespace

// SPDX-License-Identifier: MIT
// The memory itself: what every other row is held against.

#include "support.hpp"

#include <tq/arch/lanes.hpp>

namespace {

using namespace tq_bench;

void copy_f32(benchmark::State& state) {
  const float* x = source();
  auto* y = target<float>();
  const auto bytes = static_cast<std::size_t>(state.range(0)) * sizeof(float);
  run(state, 8, [&] { std::memcpy(y, x, bytes); });
}

void read_sum(benchmark::State& state) {
  const float* x = source();
  const auto n = static_cast<std::size_t>(state.range(0));
  run(state, 4, [&] {
#if TQ_HAS_SIMD
    using F = tq::arch::floats<tq::arch::native>;
    F sum[8];
    for (auto& s : sum) s = F(0.0f);
    for (std::size_t i = 0; i < n; i += 8 * F::size)
      for (std::size_t k = 0; k < 8; ++k) sum[k] += F::load_unaligned(x + i + k * F::size);
    for (std::size_t k = 1; k < 8; ++k) sum[0] += sum[k];
    benchmark::DoNotOptimize(sum[0]);
#else
    float sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += x[i];
    benchmark::DoNotOptimize(sum);
#endif
  });
}

}  // namespace

BENCHMARK(copy_f32)
    ->Name("memcpy/float32")
    ->Apply(tq_bench::sizes_and_row)
    ->Apply(tq_bench::two_caches)
    ->Arg(2048);  // the bins that calibrators look at
BENCHMARK(read_sum)->Name("read_sum/float32")->Apply(tq_bench::sizes);

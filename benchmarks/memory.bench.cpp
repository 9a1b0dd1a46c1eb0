// SPDX-License-Identifier: MIT
// The memory itself: what every other row is held against.

#include "support.hpp"

#include <tq/arch/lanes.hpp>

#include <cmath>
#include <cstddef>
#include <cstring>

namespace {

using namespace tq_bench;

void copy_f32(benchmark::State& state) {
  const float* x = source();
  auto* y = target<float>();
  const auto bytes = static_cast<std::size_t>(state.range(0)) * sizeof(float);
  run(state, 8, [&] { std::memcpy(y, x, bytes); });
}

// A copy to memory as `malloc` gives it, 16 bytes after a line.
void copy_allocated(benchmark::State& state) {
  auto* y = target<float>() + 4;
  const auto bytes = static_cast<std::size_t>(state.range(0)) * sizeof(float);
  run(state, 8, [&] { std::memcpy(y, source(), bytes); });
}

// Rows of a square matrix from its columns, in tiles of 16 x 16 elements.
void copy_turned(benchmark::State& state) {
  const auto side = static_cast<std::size_t>(std::sqrt(static_cast<double>(state.range(0))));
  constexpr std::size_t tile = 16;
  const float* x = source();
  auto* y = target<float>();
  run(state, 8, [&] {
    for (std::size_t r = 0; r < side; r += tile)
      for (std::size_t c = 0; c < side; c += tile)
        for (std::size_t i = 0; i < tile; ++i)
          for (std::size_t k = 0; k < tile; ++k)
            y[(r + i) * side + c + k] = x[(c + k) * side + r + i];
  });
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
    ->Arg(64)
    ->Arg(2048);  // the bins that calibrators look at
BENCHMARK(copy_allocated)->Name("memcpy/float32/allocated")->Apply(tq_bench::sizes);
BENCHMARK(copy_turned)->Name("copy/float32/turned_square")->Apply(tq_bench::sizes);
BENCHMARK(read_sum)->Name("read_sum/float32")->Apply(tq_bench::sizes);

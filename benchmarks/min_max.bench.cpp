// SPDX-License-Identifier: MIT
// The range of a tensor.

#include "support.hpp"

#include <tq/observe/min_max.hpp>
#include <tq/observe/observer.hpp>

namespace {

using namespace tq_bench;

void whole(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const float* x = source();
  run(state, 4, [&] {
    tq::MinMax seen;
    seen.add({x, n});
    benchmark::DoNotOptimize(seen);
  });
}

template <class Granularity>
void observed(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const tq::ConstTensorView x(source(), {n / columns, columns});
  tq::Observer<tq::MinMax, Granularity> observer;
  run(state, 4, [&] { observer.observe(x); });
}

BENCHMARK(whole)->Name("min_max/float32/per_tensor")->Apply(sizes);
BENCHMARK(observed<tq::PerChannel<0>>)->Name("min_max/float32/per_channel_0")->Apply(sizes);
BENCHMARK(observed<tq::PerChannel<-1>>)->Name("min_max/float32/per_channel_last")->Apply(sizes);

}  // namespace

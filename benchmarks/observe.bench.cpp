// SPDX-License-Identifier: MIT
// Accumulators on one stream. The memory rows to hold them against are memcpy/float32 and
// read_sum/float32.

#include "support.hpp"

#include <tq/observe/histogram.hpp>
#include <tq/observe/mean_abs.hpp>
#include <tq/observe/min_max.hpp>
#include <tq/observe/percentile.hpp>

#include <algorithm>

namespace {

using namespace tq_bench;

enum class Values { normal, relu, equal };

// Normal deviates, the same with a half of zeros, or one of them over and over.
template <Values V>
const float* values() {
  if constexpr (V == Values::normal) {
    return source();
  } else {
    static const Pages<float> pages = [] {
      Pages<float> p(static_cast<std::size_t>(in_memory), 0);
      for (std::size_t i = 0; i < static_cast<std::size_t>(in_memory); ++i)
        p.data()[i] = V == Values::relu ? std::max(source()[i], 0.0f) : source()[0];
      return p;
    }();
    return pages.data();
  }
}

template <class Accumulator, Values V = Values::normal>
void whole(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const float* x = values<V>();
  run(state, 4, [&] {
    Accumulator seen;
    seen.add({x, n});
    benchmark::DoNotOptimize(seen);
  });
}

// One more batch for an accumulator that knows the range.
template <class Accumulator, Values V = Values::normal>
void again(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const float* x = values<V>();
  static Accumulator seen;
  run(state, 4, [&] {
    seen.add({x, n});
    benchmark::DoNotOptimize(seen);
  });
}

// Rows of 1024 elements, each into an empty accumulator: many slots, few elements.
template <class Accumulator, Values V = Values::normal>
void rows(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const float* x = values<V>();
  static Accumulator slot;
  run(state, 4, [&] {
    for (std::size_t i = 0; i < n; i += columns) {
      slot = Accumulator();
      slot.add({x + i, columns});
      benchmark::DoNotOptimize(slot);
    }
  });
}

// The usual loop by hand: 2048 bins over a range that is known beforehand.
void by_hand(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const float* x = source();
  static std::uint32_t counts[2048];
  run(state, 4, [&] {
    for (std::size_t i = 0; i < n; ++i)
      ++counts[std::clamp(static_cast<int>((x[i] + 6.0f) * (2048 / 12.0f)), 0, 2047)];
  });
}

using tq::AbsHistogram, tq::Histogram, tq::MeanAbs, tq::MinMax, tq::Percentile;

BENCHMARK(whole<MinMax>)->Name("observe/min_max/normal")->Apply(sizes);
BENCHMARK(whole<MeanAbs>)->Name("observe/mean_abs/normal")->Apply(sizes);
BENCHMARK(whole<Histogram>)->Name("observe/histogram/normal")->Apply(sizes);
BENCHMARK(whole<Histogram, Values::relu>)->Name("observe/histogram/relu")->Apply(sizes);
BENCHMARK(whole<Histogram, Values::equal>)->Name("observe/histogram/equal")->Apply(sizes);
BENCHMARK(whole<AbsHistogram>)->Name("observe/abs_histogram/normal")->Apply(sizes);
BENCHMARK(whole<AbsHistogram, Values::relu>)->Name("observe/abs_histogram/relu")->Apply(sizes);
BENCHMARK(whole<Percentile>)->Name("observe/percentile/normal")->Apply(sizes);
BENCHMARK(again<Histogram>)->Name("observe/histogram_again/normal")->Apply(sizes);
BENCHMARK(rows<Histogram>)->Name("observe/histogram_of_rows/normal")->Apply(sizes);
BENCHMARK(rows<Histogram, Values::relu>)->Name("observe/histogram_of_rows/relu")->Apply(sizes);
BENCHMARK(by_hand)->Name("observe/by_hand/normal")->Apply(sizes);

}  // namespace

// SPDX-License-Identifier: MIT
#pragma once
// Buffers, sizes and counters of all benchmarks.

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <random>
#include <vector>

namespace tq_bench {

/// In cache (256 KiB of float32), and in memory (256 MiB).
inline constexpr std::int64_t in_cache = 64 << 10, in_memory = 64 << 20;
/// Rows of this many elements where a benchmark needs a matrix.
inline constexpr std::size_t columns = 1024;

/// `n` elements that start `offset` bytes after a page boundary. All pages are touched.
template <class T>
class Pages {
 public:
  Pages(std::size_t n, std::size_t offset)
      : bytes_((n * sizeof(T) + offset + page - 1) / page * page),
        memory_(static_cast<unsigned char*>(std::aligned_alloc(page, bytes_))),
        offset_(offset) {
    if (memory_ == nullptr) throw std::bad_alloc();
    std::memset(memory_.get(), 1, bytes_);
  }
  [[nodiscard]] T* data() const noexcept { return reinterpret_cast<T*>(memory_.get() + offset_); }

 private:
  struct Free {
    void operator()(unsigned char* p) const noexcept { std::free(p); }
  };
  static constexpr std::size_t page = 4096;
  std::size_t bytes_;
  std::unique_ptr<unsigned char, Free> memory_;
  std::size_t offset_;
};

/// Normal deviates: a megabyte of them repeated, always the same ones.
inline const float* source() {
  static const Pages<float> pages = [] {
    Pages<float> p(static_cast<std::size_t>(in_memory), 0);
    std::mt19937_64 generator(42);
    std::normal_distribution<float> normal;
    const std::size_t n = std::size_t{1} << 18;
    for (std::size_t i = 0; i < n; ++i) p.data()[i] = normal(generator);
    for (std::size_t i = n; i < static_cast<std::size_t>(in_memory); i += n)
      std::memcpy(p.data() + i, p.data(), n * sizeof(float));
    return p;
  }();
  return pages.data();
}

/// Where results go. Not a multiple of 4 KiB away from the source: that would make stores wait for
/// loads.
template <class T>
T* target() {
  static const Pages<float> pages(static_cast<std::size_t>(in_memory) + 1024, 1088);
  return reinterpret_cast<T*>(pages.data());
}

/// Runs a benchmark at both sizes.
inline void sizes(benchmark::internal::Benchmark* b) { b->Arg(in_cache)->Arg(in_memory); }

/// The same, and on one row, where what a call costs counts.
inline void sizes_and_row(benchmark::internal::Benchmark* b) {
  b->Arg(static_cast<std::int64_t>(columns))->Apply(sizes);
}

/// Runs a benchmark on 2 MiB and on 8 MiB of float32, which the caches of two cores hold together.
inline void two_caches(benchmark::internal::Benchmark* b) { b->Arg(512 << 10)->Arg(2 << 20); }

/// Calls `f` once per iteration and reports wall-clock time per element and bytes (read plus
/// written) per second.
template <class F>
void run(benchmark::State& state, double bytes_per_element, F&& f) {
  using clock = std::chrono::steady_clock;
  f();  // touches code and data
  const auto begin = clock::now();
  for (auto _ : state) {
    f();
    benchmark::ClobberMemory();
  }
  const double ns = std::chrono::duration<double, std::nano>(clock::now() - begin).count();
  const double elements =
      static_cast<double>(state.iterations()) * static_cast<double>(state.range(0));
  state.counters["ns_per_element"] = ns / elements;
  state.counters["bytes_per_second"] =
      benchmark::Counter(elements * bytes_per_element / ns * 1e9, benchmark::Counter::kDefaults,
                         benchmark::Counter::kIs1000);
}

}  // namespace tq_bench

// SPDX-License-Identifier: MIT
#pragma once
// Counters of benchmarks of matrix products.

#include <benchmark/benchmark.h>

#include <cstddef>

namespace tq_bench {

/// Sets the counters of a benchmark whose every iteration makes `products` and reads `bytes`; an
/// element is a product.
inline void count_products(benchmark::State& state, std::size_t products, std::size_t bytes) {
  using benchmark::Counter;
  const auto times = static_cast<double>(state.iterations());
  state.counters["products_per_second"] =
      Counter(static_cast<double>(products) * times, Counter::kIsRate);
  state.counters["bytes_per_second"] =
      Counter(static_cast<double>(bytes) * times, Counter::kIsRate);
  state.counters["ns_per_element"] =
      Counter(static_cast<double>(products) * times * 1e-9, Counter::kIsRate | Counter::kInvert);
}

}  // namespace tq_bench

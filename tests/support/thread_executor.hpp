// SPDX-License-Identifier: MIT
#pragma once
// Executors that are awkward on purpose: threads that take tasks in no particular order, and one
// thread that pretends to be many and works backwards.

#include <tq/core/first_exception.hpp>

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace test {

struct Threads {
  std::size_t threads = 3;
  [[nodiscard]] std::size_t concurrency() const { return threads; }
  template <class F>
  void operator()(std::size_t n, F&& f) const {
    std::atomic<std::size_t> next = 0;
    tq::FirstException first;
    std::vector<std::thread> pool;
    for (std::size_t t = 0; t < threads; ++t)
      pool.emplace_back([&] {
        for (std::size_t i = next++; i < n; i = next++) first.run([&] { f(i); });
      });
    for (std::thread& t : pool) t.join();
    first.rethrow();
  }
};

struct Backwards {
  std::size_t pretended = 7;
  [[nodiscard]] std::size_t concurrency() const { return pretended; }
  template <class F>
  void operator()(std::size_t n, F&& f) const {
    for (std::size_t i = n; i-- > 0;) f(i);
  }
};

// Either, in one type.
struct Awkward {
  Threads threads;
  bool parallel = true;
  [[nodiscard]] std::size_t concurrency() const {
    return parallel ? threads.concurrency() : Backwards{}.concurrency();
  }
  template <class F>
  void operator()(std::size_t n, F&& f) const {
    if (parallel) threads(n, f);
    else Backwards{}(n, f);
  }
};

}  // namespace test

// SPDX-License-Identifier: MIT
#pragma once
// Executors: who runs the independent pieces of an operation. tq starts no threads of its own.

#include <tq/config.hpp>

#include <concepts>
#include <cstddef>

namespace tq {

/// Runs f(0) to f(n - 1) one after the other.
struct Serial {
  static constexpr std::size_t concurrency() noexcept { return 1; }
  template <class F>
  void operator()(std::size_t n, F&& f) const {
    for (std::size_t i = 0; i < n; ++i) f(i);
  }
};

/// Calls f(i) once for every i in [0, n), in any order and on any thread, and returns when all are
/// done. `concurrency()` says how many run at once. Results never depend on either. Where f throws,
/// the executor throws the first exception in its caller once no call is running any more, and may
/// leave out calls that have not begun (`FirstException` does both). Smallest model: `Serial`.
template <class E>
concept Executor = requires(const E& e, void (&f)(std::size_t)) {
  { e.concurrency() } -> std::convertible_to<std::size_t>;
  e(std::size_t{}, f);
};

/// The default executor.
inline constexpr Serial serial{};

}  // namespace tq

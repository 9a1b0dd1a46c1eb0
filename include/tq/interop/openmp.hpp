// SPDX-License-Identifier: MIT
#pragma once
// An executor on OpenMP threads.

#include <tq/core/executor.hpp>
#include <tq/core/first_exception.hpp>

#include <omp.h>
#include <cstddef>

namespace tq::interop {

/// Spreads work over `threads` OpenMP threads (0: as many as OpenMP would use). Results are the
/// same bits as those of `tq::serial`. The first exception that a piece of work throws reaches the
/// caller, and pieces that have not begun are left out. Compile with -fopenmp.
struct OpenMp {
  int threads = 0;

  [[nodiscard]] std::size_t concurrency() const noexcept {
    return static_cast<std::size_t>(threads > 0 ? threads : omp_get_max_threads());
  }
  template <class F>
  void operator()(std::size_t n, F&& f) const {
    const auto end = static_cast<std::ptrdiff_t>(n);
    const int wanted = static_cast<int>(concurrency());
    FirstException first;  // an exception that leaves a parallel region ends the program
#pragma omp parallel for schedule(dynamic) num_threads(wanted)
    for (std::ptrdiff_t i = 0; i < end; ++i) first.run([&] { f(static_cast<std::size_t>(i)); });
    first.rethrow();
  }
};

}  // namespace tq::interop

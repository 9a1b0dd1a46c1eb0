// SPDX-License-Identifier: MIT
#pragma once
// An executor on OpenMP threads.

#include <tq/core/executor.hpp>

#include <omp.h>
#include <cstddef>

namespace tq::interop {

/// Spreads work over `threads` OpenMP threads (0: as many as OpenMP would use). Results are the
/// same bits as those of `tq::serial`. Compile with -fopenmp.
struct OpenMp {
  int threads = 0;

  [[nodiscard]] std::size_t concurrency() const noexcept {
    return static_cast<std::size_t>(threads > 0 ? threads : omp_get_max_threads());
  }
  template <class F>
  void operator()(std::size_t n, F&& f) const {
    const auto end = static_cast<std::ptrdiff_t>(n);
    const int wanted = static_cast<int>(concurrency());
#pragma omp parallel for schedule(dynamic) num_threads(wanted)
    for (std::ptrdiff_t i = 0; i < end; ++i) f(static_cast<std::size_t>(i));
  }
};

}  // namespace tq::interop

// SPDX-License-Identifier: MIT
#pragma once
// An executor on oneTBB tasks.

#include <tq/core/executor.hpp>

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <algorithm>
#include <cstddef>

namespace tq::interop {

/// Spreads work over at most `threads` threads of TBB (0: as many as the arena of the caller has),
/// and no more than `tbb::global_control` allows. Results are the same bits as those of
/// `tq::serial`. The first exception that a piece of work throws reaches the caller, and pieces
/// that have not begun are left out.
struct Tbb {
  int threads = 0;

  [[nodiscard]] std::size_t concurrency() const noexcept {
    if (threads <= 0) return static_cast<std::size_t>(tbb::this_task_arena::max_concurrency());
    return std::min(
        static_cast<std::size_t>(threads),
        tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism));
  }
  template <class F>
  void operator()(std::size_t n, F&& f) const {
    const auto spread = [&] { tbb::parallel_for(std::size_t{0}, n, [&](std::size_t i) { f(i); }); };
    if (threads > 0) tbb::task_arena(static_cast<int>(concurrency())).execute(spread);
    else spread();
  }
};

}  // namespace tq::interop

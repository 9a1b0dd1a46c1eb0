// SPDX-License-Identifier: MIT
#pragma once
// How the runs of a tensor are spread over an executor.

#include <tq/bodies.hpp>
#include <tq/core/detail/run.hpp>
#include <tq/core/executor.hpp>
#include <tq/core/shape.hpp>
#include <tq/core/tensor_view.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tq::detail {

// Elements a task should have: enough to pay for handing it to another thread. A multiple of 8, so
// that tasks of packed codes never share a byte.
inline constexpr std::size_t task_size = std::size_t{1} << 17;

// Whether n elements are one task, which the caller does itself.
template <Executor E>
[[nodiscard]] bool is_one_task(const E& executor, std::size_t n) noexcept {
  return executor.concurrency() <= 1 || n < 2 * task_size;
}

// The runs of a tensor in order, to be cut anywhere. Where they are in the order of the target, and
// it is dense, so are the cuts.
class RunList {
 public:
  TQ_CORE_API RunList(const Shape& shape, const Shape& block, const Strides& source,
                      const Strides& target);
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  // Calls f(run) for runs that together are the elements [begin, end).
  template <class F>
  void for_each(std::size_t begin, std::size_t end, F&& f) const {
    auto i = static_cast<std::size_t>(std::upper_bound(begins_.begin(), begins_.end(), begin) -
                                      begins_.begin());
    for (--i; begin < end; ++i) {
      const std::size_t stop = std::min(end, begins_[i] + runs_[i].size());
      for_each_slice(runs_[i], begin - begins_[i], stop - begins_[i], f);
      begin = stop;
    }
  }

 private:
  std::vector<Run> runs_;
  std::vector<std::size_t> begins_;
  std::size_t size_ = 0;
};

// Cuts the runs of a tensor into tasks and spreads them over `executor`. task(each) is called once
// per task, and each(f) calls f(run) for its runs. Where the runs are in the order of the target, a
// task covers the target elements from one multiple of 8 to another.
template <Executor E, class Task>
void for_each_task(const E& executor, const Shape& shape, const Shape& block, const Strides& source,
                   const Strides& target, Task&& task) {
  const std::size_t n = shape.size();
  if (is_one_task(executor, n)) {
    task([&](auto&& f) { for_each_run(shape, block, source, target, f); });
    return;
  }
  const RunList runs(shape, block, source, target);
  const std::size_t wanted = n / (4 * executor.concurrency());
  const std::size_t size = std::max(task_size, wanted / 8 * 8);
  executor((n + size - 1) / size, [&](std::size_t index) {
    task([&](auto&& f) { runs.for_each(index * size, std::min((index + 1) * size, n), f); });
  });
}

}  // namespace tq::detail

#ifndef TQ_KERNEL_LIBRARY
#include <tq/core/detail/tasks.ipp>
#endif

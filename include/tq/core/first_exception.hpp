// SPDX-License-Identifier: MIT
#pragma once
// FirstException: carries an exception from the tasks of an executor to its caller.

#include <tq/config.hpp>

#include <atomic>
#include <exception>
#include <mutex>
#include <utility>

namespace tq {

/// Keeps the first exception that tasks throw, on any thread, and leaves out the tasks that would
/// begin after it. An executor of threads that an exception must not leave is
///
///     tq::FirstException first;
///     ... on every thread: first.run([&] { f(i); });
///     ... when all threads are done: first.rethrow();
class FirstException {
 public:
  /// Calls task(), unless one has thrown before.
  template <class Task>
  void run(Task&& task) noexcept {
#if TQ_HAS_EXCEPTIONS
    if (has_thrown_.load(std::memory_order_relaxed)) return;
    try {
      std::forward<Task>(task)();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (first_ == nullptr) first_ = std::current_exception();
      has_thrown_.store(true, std::memory_order_relaxed);
    }
#else
    std::forward<Task>(task)();
#endif
  }

  /// Throws the exception that was kept, once; does nothing where there is none. Precondition: no
  /// task is running any more.
  void rethrow() {
#if TQ_HAS_EXCEPTIONS
    has_thrown_.store(false, std::memory_order_relaxed);
    if (first_ != nullptr) std::rethrow_exception(std::exchange(first_, nullptr));
#endif
  }

 private:
#if TQ_HAS_EXCEPTIONS
  std::atomic<bool> has_thrown_ = false;
  std::mutex mutex_;
  std::exception_ptr first_;
#endif
};

}  // namespace tq

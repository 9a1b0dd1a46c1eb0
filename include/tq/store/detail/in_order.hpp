// SPDX-License-Identifier: MIT
#pragma once
// Independent pieces of work on several threads, within memory that is given to all of them.

#include <tq/error.hpp>

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <span>
#include <system_error>
#include <thread>
#include <vector>

namespace tq::store::detail {

// Hands out the numbers of pieces of work, in order, as far as what they cost fits in a budget.
class InOrder {
 public:
  // Costs that are above the budget are those of pieces that run alone.
  InOrder(std::span<const std::uint64_t> costs, std::uint64_t budget)
      : costs_(costs), budget_(budget) {}

  // The next piece, or nothing where all have begun or one has failed. Waits until there is room.
  [[nodiscard]] std::optional<std::size_t> begin() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_over() || running_ == 0 || fits(); });
    if (is_over()) return std::nullopt;
    ++running_;
    used_ += costs_[next_];
    return next_++;
  }
  void end(std::size_t piece, std::exception_ptr failure) {
    const std::lock_guard lock(mutex_);
    --running_;
    used_ -= costs_[piece];
    if (failure && piece < failed_) {
      failed_ = piece;
      failure_ = failure;
    }
    changed_.notify_all();
  }
  // Throws what the first piece that failed has thrown: all before it have begun, so that it does
  // not depend on the number of threads. Precondition: no piece runs.
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  [[nodiscard]] bool is_over() const { return next_ == costs_.size() || failure_; }
  [[nodiscard]] bool fits() const { return used_ + costs_[next_] <= budget_; }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::span<const std::uint64_t> costs_;
  std::uint64_t budget_, used_ = 0;
  std::size_t next_ = 0, running_ = 0, failed_ = static_cast<std::size_t>(-1);
  std::exception_ptr failure_;
};

// Calls make() on each of up to `threads` threads, one of them the caller's, and what it returns
// for every number of a piece. Throws: what the first piece that fails throws.
template <class Make>
inline void run_in_order(std::size_t threads, std::span<const std::uint64_t> costs,
                         std::uint64_t budget, Make&& make) {
  InOrder order(costs, budget);
  const auto work = [&] {
    std::optional<std::size_t> piece = order.begin();
    if (!piece) return;
    std::exception_ptr failure;
    try {
      auto worker = make();
      for (;;) {
        worker(*piece);
        order.end(*piece, nullptr);
        piece = order.begin();
        if (!piece) return;
      }
    } catch (...) {
      failure = std::current_exception();
    }
    order.end(*piece, failure);
  };
  std::vector<std::thread> others;
  const std::size_t wanted = std::min(threads, costs.size());
  others.reserve(wanted);
  try {
    while (others.size() + 1 < wanted) others.emplace_back(work);
  } catch (const std::system_error&) {
    // The system has no more threads: those that there are do the work.
  }
  work();
  for (std::thread& t : others) t.join();
  order.rethrow();
}

}  // namespace tq::store::detail

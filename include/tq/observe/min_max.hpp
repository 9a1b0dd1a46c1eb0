// SPDX-License-Identifier: MIT
#pragma once
// MinMax: the smallest and largest finite value seen.

#include <tq/bodies.hpp>
#include <tq/observe/concepts.hpp>
#include <tq/ops/backend/backend.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tq {

namespace detail {
// Throws: `errc::malformed` unless min and max are finite and in order.
TQ_CORE_API void require_range(const char* where, float min, float max);
}  // namespace detail

/// Smallest and largest finite value of a stream. NaN and infinities are skipped and counted.
class MinMax {
 public:
  template <Backend B = default_backend>
  void add(std::span<const float> x) noexcept {
    merge(B::min_max::run(x.data(), x.size()), x.size());
  }

  /// Adds `rows` lines of accumulators.size() values, `stride` elements apart: column i goes to
  /// accumulators[i]. What `Observer` uses where neighbouring elements belong to different slots.
  template <Backend B = default_backend>
  static void add_columns(std::span<MinMax> accumulators, const float* x, std::size_t rows,
                          std::ptrdiff_t stride) {
    std::vector<kernels::Extremes> seen(accumulators.size());
    B::min_max::columns(x, rows, accumulators.size(), stride, seen.data());
    for (std::size_t i = 0; i < accumulators.size(); ++i) accumulators[i].merge(seen[i], rows);
  }

  void merge(const MinMax& other) noexcept { merge(other.seen_, other.count_); }

  void reset() noexcept { *this = {}; }

  /// True while no finite value was seen.
  [[nodiscard]] bool empty() const noexcept { return !(seen_.min <= seen_.max); }
  /// Precondition: not empty().
  [[nodiscard]] Range range() const noexcept { return {seen_.min, seen_.max}; }
  /// Values seen, the skipped ones included.
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] std::uint64_t nan_count() const noexcept { return seen_.nan; }
  [[nodiscard]] std::uint64_t infinite_count() const noexcept { return seen_.infinite; }

  /// Everything there is to know, to be stored. min and max are 0 where nothing finite was seen.
  struct State {
    float min, max;
    std::uint64_t finite, nan, infinite;
  };
  [[nodiscard]] TQ_CORE_API State state() const noexcept;
  /// Throws: `errc::malformed` for a state that no stream leads to.
  [[nodiscard]] TQ_CORE_API static MinMax from_state(const State& s);
  friend bool operator==(const MinMax& a, const MinMax& b) noexcept {
    return a.seen_.min == b.seen_.min && a.seen_.max == b.seen_.max && a.seen_.nan == b.seen_.nan &&
           a.seen_.infinite == b.seen_.infinite && a.count_ == b.count_;
  }

 private:
  void merge(const kernels::Extremes& e, std::uint64_t count) noexcept {
    seen_.min = std::min(seen_.min, e.min + 0.0f);  // no -0: which zero came first must not show
    seen_.max = std::max(seen_.max, e.max + 0.0f);
    seen_.nan += e.nan;
    seen_.infinite += e.infinite;
    count_ += count;
  }

  kernels::Extremes seen_;
  std::uint64_t count_ = 0;
};

}  // namespace tq

#ifndef TQ_KERNEL_LIBRARY
#include <tq/observe/min_max.ipp>
#endif

// SPDX-License-Identifier: MIT
#pragma once
// MinMax: the smallest and largest finite value seen.

#include <tq/kernels/backend.hpp>
#include <tq/observe/concepts.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tq {

/// Smallest and largest finite value of a stream. NaN and infinities are skipped and counted.
class MinMax {
 public:
  template <Backend B = default_backend>
  void add(std::span<const float> x) noexcept {
    merge(B::min_max::run(x.data(), x.size()), x.size());
  }

  /// Adds `rows` lines of slots.size() values, `stride` elements apart: column i goes to slots[i]. What
  /// `Observer` uses where neighbouring elements belong to different slots.
  template <Backend B = default_backend>
  static void add_columns(std::span<MinMax> slots, const float* x, std::size_t rows, std::ptrdiff_t stride) noexcept {
    constexpr std::size_t piece = 512;
    for (std::size_t c = 0; c < slots.size(); c += piece) {
      const std::size_t n = std::min(piece, slots.size() - c);
      kernels::Extremes e[piece];
      B::min_max::columns(x + c, rows, n, stride, e);
      for (std::size_t i = 0; i < n; ++i) slots[c + i].merge(e[i], rows);
    }
  }

  void merge(const MinMax& other) noexcept {
    merge(other.seen_, other.count_);
  }

  /// True while no finite value was seen.
  [[nodiscard]] bool empty() const noexcept { return !(seen_.min <= seen_.max); }
  /// Precondition: not empty().
  [[nodiscard]] Range range() const noexcept { return {seen_.min, seen_.max}; }
  /// Values seen, the skipped ones included.
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] std::uint64_t nan_count() const noexcept { return seen_.nan; }
  [[nodiscard]] std::uint64_t infinite_count() const noexcept { return seen_.infinite; }

 private:
  void merge(const kernels::Extremes& e, std::uint64_t count) noexcept {
    seen_.min = std::min(seen_.min, e.min);
    seen_.max = std::max(seen_.max, e.max);
    seen_.nan += e.nan;
    seen_.infinite += e.infinite;
    count_ += count;
  }

  kernels::Extremes seen_;
  std::uint64_t count_ = 0;
};

}  // namespace tq

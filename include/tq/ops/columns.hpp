// SPDX-License-Identifier: MIT
#pragma once
// Columns: runs of single elements, as a tensor gives them whose axes lie in memory in another order than those of what is made
// of it. Sixteen that are neighbours are handled together, a piece at a time, so that kernels see stretches and lines of memory
// are used whole.

#include <tq/ops/parts.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace tq::detail {

inline constexpr std::size_t columns_together = 16, column_piece = 256;

// Columns that wait to be handled together: their elements follow one another in the source but not in the target, where the
// columns are neighbours.
class WaitingColumns {
 public:
  static bool is_column(const Run& r) noexcept {
    return r.length == 1 && r.count >= columns_together && r.source_stride == 1 && r.target_stride != 1;
  }
  // Whether `r` goes with those that wait; any goes with none.
  [[nodiscard]] bool fits(const Run& r) const noexcept {
    return size_ == 0 || (r.target == first_.target + static_cast<std::ptrdiff_t>(size_) && r.count == first_.count &&
                          r.target_stride == first_.target_stride && r.param_stride == first_.param_stride);
  }
  void add(const Run& r) noexcept {
    if (size_ == 0) first_ = r;
    sources_[size_] = r.source;
    params_[size_++] = r.param;
  }
  void clear() noexcept { size_ = 0; }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t length() const noexcept { return size_ == 0 ? 0 : first_.count; }
  // Where column k begins in the source, and element i of the first one in the target.
  [[nodiscard]] std::ptrdiff_t source(std::size_t k) const noexcept { return sources_[k]; }
  [[nodiscard]] std::ptrdiff_t target(std::size_t i) const noexcept {
    return first_.target + static_cast<std::ptrdiff_t>(i) * first_.target_stride;
  }
  // The kernel's view of elements [begin, begin + n) of column k, of stretches; it holds until the next one.
  [[nodiscard]] kernels::Span span(const float* scales, const std::int32_t* zero_points, std::size_t k, std::size_t begin,
                                   std::size_t n) noexcept {
    const std::size_t stride = first_.param_stride, param = params_[k] + begin * stride;
    kernels::Span span;
    span.length = n;
    span.count = 1;
    span.step = stride == 0 ? 0 : 1;
    span.scale = side_by_side(scales + param, stride, n, scales_);
    if (zero_points != nullptr) span.zero_point = side_by_side(zero_points + param, stride, n, zeros_);
    return span;
  }

 private:
  template <class T>
  static const T* side_by_side(const T* from, std::size_t stride, std::size_t n, T* room) noexcept {
    if (stride <= 1) return from;
    for (std::size_t i = 0; i < n; ++i) room[i] = from[i * stride];
    return room;
  }

  std::size_t size_ = 0;
  Run first_;
  std::ptrdiff_t sources_[columns_together];
  std::size_t params_[columns_together];
  float scales_[column_piece];  // of a piece, side by side
  std::int32_t zeros_[column_piece];
};

}  // namespace tq::detail

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

// The axis along which neighbours lie next to one another in memory, or -1.
constexpr int dense_axis(const Shape& shape, const Strides& strides) noexcept {
  for (int i = shape.rank() - 1; i >= 0; --i)
    if (shape[i] != 1 && strides[static_cast<std::size_t>(i)] == 1) return i;
  return -1;
}

// Whether elements are neighbours in the target that are none in the source.
constexpr bool is_turned(const Shape& shape, const Strides& source, const Strides& target) noexcept {
  const int to = dense_axis(shape, target);
  return to >= 0 && to != dense_axis(shape, source);
}

// Takes the runs from `out` to x. Columns are read row by row; of their pieces kernel(in, out, span) makes stretches of `out`.
template <class In, class Kernel>
class ColumnReader {
 public:
  // `scales` and `zero_points` may be null where the kernel takes none.
  ColumnReader(const In* x, float* out, const float* scales, const std::int32_t* zero_points, const Kernel& kernel) noexcept
      : x_(x), out_(out), scales_(scales), zero_points_(zero_points), kernel_(kernel) {}
  ColumnReader(const ColumnReader&) = delete;
  ColumnReader& operator=(const ColumnReader&) = delete;
  ~ColumnReader() { flush(); }

  void add(Run r) noexcept {
    if (!WaitingColumns::is_column(r)) {
      std::swap(r.source, r.target);
      std::swap(r.source_stride, r.target_stride);
      kernel_(x_ + r.source, out_ + r.target, kernel_span(r, scales_, zero_points_));
      return;
    }
    if (!columns_.fits(r)) flush();
    columns_.add(r);
    if (columns_.size() == columns_together) flush();
  }

 private:
  void flush() noexcept {
    for (std::size_t begin = 0; begin < columns_.length(); begin += column_piece) {
      const std::size_t n = std::min(column_piece, columns_.length() - begin);
      for (std::size_t i = 0; i < n; ++i) {
        const In* row = x_ + columns_.target(begin + i);
        for (std::size_t k = 0; k < columns_.size(); ++k) pieces_[k * column_piece + i] = row[k];
      }
      for (std::size_t k = 0; k < columns_.size(); ++k)
        kernel_(pieces_ + k * column_piece, out_ + columns_.source(k) + static_cast<std::ptrdiff_t>(begin),
                columns_.span(scales_, zero_points_, k, begin, n));
    }
    columns_.clear();
  }

  const In* x_;
  float* out_;
  const float* scales_;
  const std::int32_t* zero_points_;
  const Kernel& kernel_;
  WaitingColumns columns_;
  alignas(64) In pieces_[columns_together * column_piece];
};

// Calls kernel(in, out, span) for spans that together are all of x, an element of `out` for each of x. Blocks of shape `block`
// have a parameter each; without any, `scales` and `zero_points` are null.
template <Executor E, class In, class Kernel>
void for_each_span(const E& executor, const TensorView<const In>& x, const TensorView<float>& out, const Shape& block,
                   const float* scales, const std::int32_t* zero_points, const Kernel& kernel) {
  if (const std::size_t n = whole_run(executor, x.shape(), block, x.strides(), out.strides()); n != 0)
    return kernel(x.data(), out.data(), kernel_span({.length = n, .count = 1}, scales, zero_points));
  if (!is_turned(x.shape(), x.strides(), out.strides())) {
    for_each_task(executor, x.shape(), block, x.strides(), out.strides(), [&](auto&& each) {
      each([&](const Run& r) { kernel(x.data() + r.source, out.data() + r.target, kernel_span(r, scales, zero_points)); });
    });
    return;
  }
  for_each_task(executor, x.shape(), block, out.strides(), x.strides(), [&](auto&& each) {
    ColumnReader reader(x.data(), out.data(), scales, zero_points, kernel);
    each([&](const Run& r) { reader.add(r); });
  });
}

}  // namespace tq::detail

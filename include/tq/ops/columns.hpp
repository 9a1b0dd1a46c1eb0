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

// The kernel's view of a piece of a column, with its parameters side by side.
class ColumnSpan {
 public:
  // Of n <= column_piece elements with parameters `param`, `param` + stride ...; `zero_points` may be null.
  [[nodiscard]] kernels::Span operator()(const float* scales, const std::int32_t* zero_points, std::size_t param,
                                         std::size_t stride, std::size_t n) noexcept {
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

  float scales_[column_piece];
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

// Columns in the order of the target, which are read row by row; of their pieces kernel(in, out, span) makes stretches of the
// target.
template <class In, class Kernel>
class ColumnReader {
 public:
  // `scales` and `zero_points` may be null where the kernel takes none.
  ColumnReader(const In* x, float* out, const float* scales, const std::int32_t* zero_points, const Kernel& kernel) noexcept
      : x_(x), out_(out), scales_(scales), zero_points_(zero_points), kernel_(kernel) {}
  ColumnReader(const ColumnReader&) = delete;
  ColumnReader& operator=(const ColumnReader&) = delete;
  ~ColumnReader() { flush(); }

  // True where the run was taken.
  bool add(const Run& r) noexcept {
    if (r.length != 1 || r.count < columns_together || r.target_stride != 1 || r.source_stride == 1) return false;
    if (pending_ != 0 && !is_next(r)) flush();
    if (pending_ == 0) first_ = r;
    targets_[pending_] = r.target;
    params_[pending_++] = r.param;
    if (pending_ == columns_together) flush();
    return true;
  }

 private:
  [[nodiscard]] bool is_next(const Run& r) const noexcept {
    return r.source == first_.source + static_cast<std::ptrdiff_t>(pending_) && r.count == first_.count &&
           r.source_stride == first_.source_stride && r.param_stride == first_.param_stride;
  }

  void flush() noexcept {
    for (std::size_t begin = 0; pending_ != 0 && begin < first_.count; begin += column_piece) {
      const std::size_t n = std::min(column_piece, first_.count - begin);
      for (std::size_t i = 0; i < n; ++i) {
        const In* row = x_ + first_.source + static_cast<std::ptrdiff_t>(begin + i) * first_.source_stride;
        for (std::size_t k = 0; k < pending_; ++k) pieces_[k * column_piece + i] = row[k];
      }
      for (std::size_t k = 0; k < pending_; ++k)
        kernel_(pieces_ + k * column_piece, out_ + targets_[k] + static_cast<std::ptrdiff_t>(begin),
                span_(scales_, zero_points_, params_[k] + begin * first_.param_stride, first_.param_stride, n));
    }
    pending_ = 0;
  }

  const In* x_;
  float* out_;
  const float* scales_;
  const std::int32_t* zero_points_;
  const Kernel& kernel_;
  std::size_t pending_ = 0;
  Run first_;  // of the pending ones
  std::ptrdiff_t targets_[columns_together];
  std::size_t params_[columns_together];
  ColumnSpan span_;
  alignas(64) In pieces_[columns_together * column_piece];
};

// Calls kernel(in, out, span) for spans that together are all of x, an element of `out` for each of x. Blocks of shape `block`
// have a parameter each; without any, `scales` and `zero_points` are null.
template <Executor E, class In, class Kernel>
void for_each_span(const E& executor, const TensorView<const In>& x, const TensorView<float>& out, const Shape& block,
                   const float* scales, const std::int32_t* zero_points, const Kernel& kernel) {
  const auto run = [&](const Run& r) {
    kernel(x.data() + r.source, out.data() + r.target, kernel_span(r, scales, zero_points));
  };
  if (!is_turned(x.shape(), x.strides(), out.strides())) {
    for_each_task(executor, x.shape(), block, x.strides(), out.strides(), [&](auto&& each) { each(run); });
    return;
  }
  for_each_task(executor, x.shape(), block, out.strides(), x.strides(), [&](auto&& each) {
    ColumnReader reader(x.data(), out.data(), scales, zero_points, kernel);
    each([&](Run r) {  // from target to source
      std::swap(r.source, r.target);
      std::swap(r.source_stride, r.target_stride);
      if (!reader.add(r)) run(r);
    });
  });
}

}  // namespace tq::detail

// SPDX-License-Identifier: MIT
#pragma once
// Pieces of a tensor of any real numbers as float32, for what only reads: no whole copy is made.

#include <tq/core/detail/small_buffer.hpp>
#include <tq/core/real.hpp>
#include <tq/driver/planes.hpp>
#include <tq/driver/span.hpp>
#include <tq/ops/backend/operations.hpp>
#include <tq/ops/detail/sweep.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>
#include <utility>

namespace tq::detail {

// Floats of a piece: a multiple of 16. More of them make no difference any more.
inline constexpr std::size_t floats_of_piece = 8192;

// Rows of a tensor, and the floats they are made of: those of float32 are read where they are, the
// others a piece at a time. Pieces of more than `Here` floats are on the heap, for callers that
// have no room for them on the stack.
template <Backend B, Real T, std::size_t Here = floats_of_piece>
class Widened {
 public:
  static constexpr std::size_t capacity = floats_of_piece;

  // The rows of `span`, side by side, valid until the next call. Strides of the target do not
  // matter. Precondition: there are at most `capacity` elements. Throws: std::bad_alloc where they
  // may be on the heap.
  [[nodiscard]] std::span<const float> gather(const T* x,
                                              driver::Span span) noexcept(Here == capacity) {
    const std::size_t size = span.length * span.count;
    if (size > floats_.size()) floats_.reset(size > Here ? capacity : Here);
    float* const floats = floats_.data();
    span.target_stride = static_cast<std::ptrdiff_t>(span.length);
    if (span.length == 1 && span.count > 1) {  // one row of what lies apart
      span.length = std::exchange(span.count, 1);
      span.source_step = span.source_stride;
    }
    if constexpr (std::same_as<T, float>)
      B::tiles::gather(x, span.source_stride, span.source_step, span.count, span.length, floats,
                       span.length);
    else
      driver::sweep(kernel_for<B>(operation::Copy<T, float>{}), {.source = x, .target = floats},
                    span, {.scales = driver::ones<B>()});
    return {floats, size};
  }

  // Calls f(row, column, floats) for pieces of `count` rows of neighbours, `stride` apart, that
  // together are all of them, in order.
  template <class F>
  void each_row(const T* x, std::size_t length, std::size_t count, std::ptrdiff_t stride, F&& f) {
    if constexpr (std::same_as<T, float>) {
      for (std::size_t k = 0; k < count; ++k)
        f(k, std::size_t{0},
          std::span<const float>(x + static_cast<std::ptrdiff_t>(k) * stride, length));
    } else {
      each_piece(length, count, [&](std::size_t k, std::size_t i, std::size_t n, std::size_t rows) {
        const auto floats = gather(x + offset(k, i, stride), {n, rows, stride});
        for (std::size_t j = 0; j < rows; ++j) f(k + j, i, floats.subspan(j * n, n));
      });
    }
  }

  // Calls f(row, column, length, rows) for pieces of rows that have room: many rows, or parts of
  // one.
  template <class F>
  static void each_piece(std::size_t length, std::size_t count, F&& f) {
    const std::size_t width = std::min(length, capacity), rows = capacity / width;
    for (std::size_t k = 0; k < count; k += rows)
      for (std::size_t i = 0; i < length; i += width)
        f(k, i, std::min(width, length - i), std::min(rows, count - k));
  }

  [[nodiscard]] static std::ptrdiff_t offset(std::size_t row, std::size_t column,
                                             std::ptrdiff_t stride) noexcept {
    return static_cast<std::ptrdiff_t>(row) * stride + static_cast<std::ptrdiff_t>(column);
  }

 private:
  SmallBuffer<float, Here> floats_;
};

}  // namespace tq::detail

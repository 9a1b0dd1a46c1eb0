// SPDX-License-Identifier: MIT
#pragma once
// compare: how far one tensor is from another.

#include <tq/bodies.hpp>
#include <tq/core/detail/read.hpp>
#include <tq/core/detail/tasks.hpp>
#include <tq/core/options.hpp>
#include <tq/core/readable.hpp>
#include <tq/ops/backend/on.hpp>
#include <tq/ops/detail/checks.hpp>
#include <tq/ops/detail/sweep.hpp>
#include <tq/ops/detail/widened.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace tq {

/// How far `actual` is from `expected`; all sums are taken in double.
struct ErrorMetrics {
  double mse = 0;      ///< mean of (expected - actual)^2
  double mae = 0;      ///< mean of |expected - actual|
  double max_abs = 0;  ///< largest |expected - actual|
  double sqnr_db =
      std::numeric_limits<double>::infinity();  ///< 10 log10(sum expected^2 / sum error^2)
  double cosine =
      1;  ///< of the angle between the two, as vectors; 1 when both are zero, 0 when one is
  std::size_t count = 0;
};

namespace detail {
[[nodiscard]] TQ_CORE_API ErrorMetrics metrics_of(const kernels::Differences& sums,
                                                  std::size_t count);

// The differences of the elements of a span, gathered as float32 a piece at a time where they have
// no neighbours or are not both float32: the sums are the same.
template <Backend B, Real X, Real Y>
class SpanDifferences {
 public:
  void add(const X* x, const Y* y, const driver::Span& s, kernels::Differences& sums) {
    if (!s.has_neighbours())
      return add_tiles(x, y, s, capacity / std::min<std::size_t>(s.count, 64), sums);
    if constexpr (std::same_as<X, float> && std::same_as<Y, float>) {
      for (std::size_t k = 0; k < s.count; ++k)
        B::differences::add(x + offset(k, s.source_stride), y + offset(k, s.target_stride),
                            s.length, sums);
    } else if (s.length <= capacity) {
      add_tiles(x, y, s, capacity, sums);
    } else {
      for (std::size_t k = 0; k < s.count; ++k)
        B::differences::add_pieces(
            s.length, capacity,
            [&](std::size_t i, std::size_t n, const float*& a, const float*& b) {
              a = x_.gather(x + offset(k, s.source_stride) + i, {n}).data();
              b = y_.gather(y + offset(k, s.target_stride) + i, {n}).data();
            },
            sums);
    }
  }

 private:
  static constexpr std::size_t capacity = Widened<B, X>::capacity;
  static_assert(capacity % B::differences::lanes == 0);

  static std::ptrdiff_t offset(std::size_t n, std::ptrdiff_t stride) noexcept {
    return static_cast<std::ptrdiff_t>(n) * stride;
  }

  // By tiles of up to `width` columns.
  void add_tiles(const X* x, const Y* y, const driver::Span& s, std::size_t width,
                 kernels::Differences& sums) {
    width = std::min(width, s.length);
    const std::size_t height = capacity / width;
    for (std::size_t k = 0; k < s.count; k += height)
      for (std::size_t i = 0; i < s.length; i += width) {
        const std::size_t n = std::min(width, s.length - i), rows = std::min(height, s.count - k);
        const auto part = [&](auto& widened, const auto* all, std::ptrdiff_t stride,
                              std::ptrdiff_t step) {
          return widened.gather(
              all + offset(k, stride) + offset(i, step),
              {.length = n, .count = rows, .source_stride = stride, .source_step = step});
        };
        const float* a = part(x_, x, s.source_stride, s.source_step).data();
        const float* b = part(y_, y, s.target_stride, s.target_step).data();
        for (std::size_t j = 0; j < rows; ++j) B::differences::add(a + j * n, b + j * n, n, sums);
      }
  }

  Widened<B, X> x_;
  Widened<B, Y> y_;
};

template <Backend B, Real X, Real Y, Executor E>
[[nodiscard]] ErrorMetrics compare_tensors(const TensorView<const X>& expected,
                                           TensorView<const Y> actual, const E& executor) {
  shape_as("tq::compare", "a second tensor", actual, expected.shape());
  const Shape& shape = expected.shape();
  if (shape.size() == 0) return {};
  std::vector<SpanOf> parts;  // which do not depend on the executor
  TensorSpans(shape, PerTensor::block(shape), expected.strides(), actual.strides())
      .for_each({}, [&](const SpanOf& s) {
        cut(s, task_size, 1, [&](const SpanOf& part) { parts.push_back(part); });
      });
  std::vector<kernels::Differences> sums(parts.size());
  const std::size_t n = parts.size(), tasks = std::min(n, 4 * executor.concurrency());
  executor(tasks, [&](std::size_t t) {
    SpanDifferences<B, X, Y> differences;
    for (std::size_t i = n * t / tasks; i < n * (t + 1) / tasks; ++i)
      differences.add(expected.data() + parts[i].source, actual.data() + parts[i].target,
                      parts[i].span, sums[i]);
  });
  for (std::size_t i = 1; i < n; ++i) B::differences::merge(sums[i], sums[0]);
  return metrics_of(sums[0], shape.size());
}

#ifdef TQ_KERNEL_LIBRARY
extern template ErrorMetrics compare_tensors<default_backend>(const TensorView<const float>&,
                                                              TensorView<const float>,
                                                              const Serial&);
#endif

}  // namespace detail

/// Compares two tensors of one shape, of any real numbers: the metrics are those of the values as
/// float32, bit for bit. Any NaN makes the metrics NaN, and so does the same infinity in both;
/// without elements they are those of equal tensors. Options: an executor, on which the result does
/// not depend, and a backend. Throws: `errc::shape_mismatch`; `errc::bad_argument` for extents that
/// memory cannot hold.
template <Readable X = ConstTensorView, Readable Y = ConstTensorView, class... O,
          Backend B = detail::backend_among<O...>>
[[nodiscard]] ErrorMetrics compare(const X& expected, const Y& actual, const O&... options) {
  using enum detail::OptionKind;
  const auto chosen = detail::choose<executor, backend>(options...);
  return detail::compare_tensors<B>(detail::read(expected).view(), detail::read(actual).view(),
                                    chosen.executor());
}
template <Backend B, class... Args>
[[deprecated("tq::compare: pass tq::on<B> as an option")]] ErrorMetrics compare(Args&&... args) {
  return tq::compare(std::forward<Args>(args)..., on<B>);
}

/// Compares two tensors that come in pieces: the metrics of `compare`, bit for bit, where every
/// piece but the last has a multiple of `piece` elements.
template <Backend B = default_backend>
class Comparison {
 public:
  static constexpr std::size_t piece = detail::task_size;

  /// Throws: `errc::shape_mismatch` unless both have the same size.
  void add(std::span<const float> expected, std::span<const float> actual) {
    add<float, float>(expected, actual);
  }
  template <Real X, Real Y>
  void add(std::span<const X> expected, std::span<const Y> actual) {
    detail::require_size("tq::Comparison", "a second piece", expected.size(), actual.size());
    count_ += expected.size();
    detail::SpanDifferences<B, X, Y> differences;
    for (std::size_t i = 0; i < expected.size(); i += piece) {
      kernels::Differences part;
      differences.add(expected.data() + i, actual.data() + i,
                      {.length = std::min(piece, expected.size() - i)}, part);
      B::differences::merge(part, sums_);
    }
  }
  /// Adds what another one compared.
  void merge(const Comparison& other) noexcept {
    count_ += other.count_;
    B::differences::merge(other.sums_, sums_);
  }
  [[nodiscard]] ErrorMetrics metrics() const { return detail::metrics_of(sums_, count_); }

 private:
  kernels::Differences sums_;
  std::size_t count_ = 0;
};

}  // namespace tq

#ifndef TQ_KERNEL_LIBRARY
#include <tq/ops/compare.ipp>
#endif

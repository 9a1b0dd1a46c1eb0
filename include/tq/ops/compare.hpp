// SPDX-License-Identifier: MIT
#pragma once
// compare: how far one tensor is from another.

#include <tq/core/real_tensor.hpp>
#include <tq/core/tasks.hpp>
#include <tq/ops/parts.hpp>
#include <tq/ops/widened.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace tq {

/// How far `actual` is from `expected`; all sums are taken in double.
struct ErrorMetrics {
  double mse = 0;      ///< mean of (expected - actual)^2
  double mae = 0;      ///< mean of |expected - actual|
  double max_abs = 0;  ///< largest |expected - actual|
  double sqnr_db = std::numeric_limits<double>::infinity();  ///< 10 log10(sum expected^2 / sum error^2)
  double cosine = 1;   ///< of the angle between the two, as vectors; 1 when both are zero, 0 when one is
  std::size_t count = 0;
};

namespace detail {
[[nodiscard]] inline ErrorMetrics metrics_of(const kernels::Differences& sums, std::size_t count) {
  ErrorMetrics m;
  m.count = count;
  if (count == 0) return m;
  const auto n = static_cast<double>(count);
  m.mse = sums.error2 / n;
  m.mae = sums.error1 / n;
  m.max_abs = sums.largest;
  if (!(sums.error2 == 0)) m.sqnr_db = 10 * std::log10(sums.x2 / sums.error2);
  if (!(sums.x2 == 0 && sums.y2 == 0)) m.cosine = sums.xy == 0 ? 0 : sums.xy / std::sqrt(sums.x2 * sums.y2);
  return m;
}
}  // namespace detail

namespace detail {

// The differences of rows, widened a piece at a time where they are not both float32: the sums are the same.
template <Backend B, Real X, Real Y>
class RowDifferences {
 public:
  void add(const X* x, const Y* y, const Run& r, kernels::Differences& sums) {
    if constexpr (std::same_as<X, float> && std::same_as<Y, float>) {
      for (std::size_t k = 0; k < r.count; ++k)
        B::differences::add(x + offset(k, 0, r.source_stride), y + offset(k, 0, r.target_stride), r.length, sums);
    } else if (r.length > capacity) {
      for (std::size_t k = 0; k < r.count; ++k)
        B::differences::add_pieces(
            r.length, capacity,
            [&](std::size_t i, std::size_t n, const float*& a, const float*& b) {
              a = x_.gather(x + offset(k, i, r.source_stride), {n}).data();
              b = y_.gather(y + offset(k, i, r.target_stride), {n}).data();
            },
            sums);
    } else {
      Widened<Arch, X>::each_piece(r.length, r.count, [&](std::size_t k, std::size_t, std::size_t n, std::size_t rows) {
        const float* a = x_.gather(x + offset(k, 0, r.source_stride), {n, rows, r.source_stride}).data();
        const float* b = y_.gather(y + offset(k, 0, r.target_stride), {n, rows, r.target_stride}).data();
        for (std::size_t j = 0; j < rows; ++j) B::differences::add(a + j * n, b + j * n, n, sums);
      });
    }
  }

 private:
  using Arch = typename B::arch;
  static constexpr std::size_t capacity = Widened<Arch, X>::capacity;
  static constexpr auto offset = &Widened<Arch, X>::offset;

  Widened<Arch, X> x_;
  Widened<Arch, Y> y_;
};

template <Backend B, Real X, Real Y, Executor E>
[[nodiscard]] ErrorMetrics compare_tensors(const TensorView<const X>& expected, TensorView<const Y> actual, const E& executor) {
  shape_as("tq::compare", "a second tensor", actual, expected.shape());
  const std::size_t count = expected.size();
  if (count == 0) return {};
  const RunList runs(expected.shape(), expected.shape(), expected.strides(), actual.strides());
  std::vector<kernels::Differences> parts((count + task_size - 1) / task_size);
  executor(parts.size(), [&](std::size_t i) {
    const std::size_t begin = i * task_size, end = std::min(begin + task_size, count);
    RowDifferences<B, X, Y> rows;
    runs.for_each(begin, end,
                  [&](const Run& r) { rows.add(expected.data() + r.source, actual.data() + r.target, r, parts[i]); });
  });
  kernels::Differences sums;
  for (const kernels::Differences& part : parts) B::differences::merge(part, sums);
  return metrics_of(sums, count);
}

}  // namespace detail

/// Compares two tensors of one shape. Any NaN makes the metrics NaN, and so does the same infinity in both; without elements
/// they are those of equal tensors. The result does not depend on `executor`.
/// Throws: `errc::shape_mismatch`.
template <Backend B = default_backend, Executor E = Serial>
[[nodiscard]] ErrorMetrics compare(const ConstTensorView& expected, const ConstTensorView& actual,
                                   const E& executor = serial) {
  return detail::compare_tensors<B>(expected, actual, executor);
}
/// The same where one of them or both are of `tq::float16`, `tq::bfloat16`, double or others: the metrics are those of the
/// values as float32, bit for bit.
template <Backend B = default_backend, Executor E = Serial, RealTensor X, RealTensor Y>
  requires OtherRealTensor<X> || OtherRealTensor<Y>
[[nodiscard]] ErrorMetrics compare(const X& expected, const Y& actual, const E& executor = serial) {
  return detail::compare_tensors<B>(detail::view_of(expected), detail::view_of(actual), executor);
}

/// Compares two tensors that come in pieces: the metrics of `compare`, bit for bit, where every piece but the last has a
/// multiple of `piece` elements.
template <Backend B = default_backend>
class Comparison {
 public:
  static constexpr std::size_t piece = detail::task_size;

  /// Throws: `errc::shape_mismatch` unless both have the same size.
  void add(std::span<const float> expected, std::span<const float> actual) { add<float, float>(expected, actual); }
  template <Real X, Real Y>
  void add(std::span<const X> expected, std::span<const Y> actual) {
    detail::require_size("tq::Comparison", "a second piece", expected.size(), actual.size());
    count_ += expected.size();
    detail::RowDifferences<B, X, Y> rows;
    for (std::size_t i = 0; i < expected.size(); i += piece) {
      kernels::Differences part;
      rows.add(expected.data() + i, actual.data() + i, {.length = std::min(piece, expected.size() - i), .count = 1}, part);
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

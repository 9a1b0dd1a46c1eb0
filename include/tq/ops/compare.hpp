// SPDX-License-Identifier: MIT
#pragma once
// compare: how far one tensor is from another.

#include <tq/core/tasks.hpp>
#include <tq/ops/parts.hpp>

#include <algorithm>
#include <cmath>
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

/// Compares two tensors of one shape. Any NaN makes the metrics NaN, and so does the same infinity in both; without elements
/// they are those of equal tensors. The result does not depend on `executor`.
/// Throws: `errc::shape_mismatch`.
template <Backend B = default_backend, Executor E = Serial>
[[nodiscard]] ErrorMetrics compare(const ConstTensorView& expected, ConstTensorView actual, const E& executor = serial) {
  detail::shape_as("tq::compare", "a second tensor", actual, expected.shape());
  const std::size_t count = expected.size();
  if (count == 0) return {};
  const detail::RunList runs(expected.shape(), expected.shape(), expected.strides(), actual.strides());
  std::vector<kernels::Differences> parts((count + detail::task_size - 1) / detail::task_size);
  executor(parts.size(), [&](std::size_t i) {
    const std::size_t begin = i * detail::task_size, end = std::min(begin + detail::task_size, count);
    runs.for_each(begin, end, [&](const Run& r) {
      for (std::size_t k = 0; k < r.count; ++k) {
        const auto row = static_cast<std::ptrdiff_t>(k);
        B::differences::add(expected.data() + r.source + row * r.source_stride, actual.data() + r.target + row * r.target_stride,
                            r.length, parts[i]);
      }
    });
  });
  kernels::Differences sums;
  for (const kernels::Differences& part : parts) B::differences::merge(part, sums);
  return detail::metrics_of(sums, count);
}

/// Compares two tensors that come in pieces: the metrics of `compare`, bit for bit, where every piece but the last has a
/// multiple of `piece` elements.
template <Backend B = default_backend>
class Comparison {
 public:
  static constexpr std::size_t piece = detail::task_size;

  /// Throws: `errc::shape_mismatch` unless both have the same size.
  void add(std::span<const float> expected, std::span<const float> actual) {
    detail::require_size("tq::Comparison", "a second piece", expected.size(), actual.size());
    count_ += expected.size();
    for (std::size_t i = 0; i < expected.size(); i += piece) {
      kernels::Differences part;
      B::differences::add(expected.data() + i, actual.data() + i, std::min(piece, expected.size() - i), part);
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

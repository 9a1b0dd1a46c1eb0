// SPDX-License-Identifier: MIT
#pragma once
// compare: how far one tensor is from another.

#include <tq/core/tasks.hpp>
#include <tq/ops/parts.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
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

/// Compares two tensors of one shape. Any NaN makes the metrics NaN, and so does the same infinity in both; without elements
/// they are those of equal tensors. The result does not depend on `executor`.
/// Throws: `errc::shape_mismatch`.
template <Backend B = default_backend, Executor E = Serial>
[[nodiscard]] ErrorMetrics compare(const ConstTensorView& expected, ConstTensorView actual, const E& executor = serial) {
  detail::shape_as("tq::compare", "a second tensor", actual, expected.shape());
  ErrorMetrics m;
  m.count = expected.size();
  if (m.count == 0) return m;
  const detail::RunList runs(expected.shape(), expected.shape(), expected.strides(), actual.strides());
  std::vector<kernels::Differences> parts((m.count + detail::task_size - 1) / detail::task_size);
  executor(parts.size(), [&](std::size_t i) {
    const std::size_t begin = i * detail::task_size, end = std::min(begin + detail::task_size, m.count);
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
  const auto n = static_cast<double>(m.count);
  m.mse = sums.error2 / n;
  m.mae = sums.error1 / n;
  m.max_abs = sums.largest;
  if (!(sums.error2 == 0)) m.sqnr_db = 10 * std::log10(sums.x2 / sums.error2);
  if (!(sums.x2 == 0 && sums.y2 == 0)) m.cosine = sums.xy == 0 ? 0 : sums.xy / std::sqrt(sums.x2 * sums.y2);
  return m;
}

}  // namespace tq

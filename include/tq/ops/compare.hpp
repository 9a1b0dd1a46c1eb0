// SPDX-License-Identifier: MIT
#pragma once
// compare: how far one tensor is from another.

#include <tq/ops/parts.hpp>

#include <cmath>
#include <cstddef>
#include <limits>

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

/// Compares two tensors of one shape. Any NaN makes the metrics NaN; without elements they are those of
/// equal tensors.
/// Throws: `errc::shape_mismatch`.
[[nodiscard]] inline ErrorMetrics compare(const ConstTensorView& expected, ConstTensorView actual) {
  detail::shape_as("tq::compare", "a second tensor", actual, expected.shape());
  double error2 = 0, error1 = 0, top = 0, signal = 0, other = 0, dot = 0;
  for_each_run(expected.shape(), PerTensor::block(expected.shape()), expected.strides(), actual.strides(),
               [&](const Run& r) {
                 for (std::size_t k = 0; k < r.count; ++k) {
                   const auto row = static_cast<std::ptrdiff_t>(k);
                   const float* a = expected.data() + r.source + row * r.source_stride;
                   const float* b = actual.data() + r.target + row * r.target_stride;
                   for (std::size_t i = 0; i < r.length; ++i) {
                     const double x = a[i], y = b[i], e = x - y;
                     error2 += e * e;
                     error1 += std::abs(e);
                     top = std::abs(e) <= top || std::isnan(top) ? top : std::abs(e);
                     signal += x * x;
                     other += y * y;
                     dot += x * y;
                   }
                 }
               });
  ErrorMetrics m;
  m.count = expected.size();
  if (m.count == 0) return m;
  const auto n = static_cast<double>(m.count);
  m.mse = error2 / n;
  m.mae = error1 / n;
  m.max_abs = top;
  if (!(error2 == 0)) m.sqnr_db = 10 * std::log10(signal / error2);
  if (!(signal == 0 && other == 0)) m.cosine = dot == 0 ? 0 : dot / std::sqrt(signal * other);
  return m;
}

}  // namespace tq

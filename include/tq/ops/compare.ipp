// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/ops/compare.hpp.

#include <tq/ops/compare.hpp>

#include <cmath>

namespace tq::detail {

TQ_CORE_API ErrorMetrics metrics_of(const kernels::Differences& sums, std::size_t count) {
  ErrorMetrics m;
  m.count = count;
  if (count == 0) return m;
  const auto n = static_cast<double>(count);
  m.mse = sums.error2 / n;
  m.mae = sums.error1 / n;
  m.max_abs = sums.largest;
  if (!(sums.error2 == 0)) m.sqnr_db = 10 * std::log10(sums.x2 / sums.error2);
  if (!(sums.x2 == 0 && sums.y2 == 0))
    m.cosine = sums.xy == 0 ? 0 : sums.xy / std::sqrt(sums.x2 * sums.y2);
  return m;
}

#ifdef TQ_KERNEL_LIBRARY
template ErrorMetrics compare_tensors<default_backend>(const TensorView<const float>&,
                                                       TensorView<const float>, const Serial&);
#endif

}  // namespace tq::detail

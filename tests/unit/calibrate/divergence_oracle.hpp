// SPDX-License-Identifier: MIT
#pragma once
// The Kullback-Leibler divergence of a clipped and quantized histogram, every bin and level looked
// at one by one.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace divergence_oracle {

/// Bin j of `counts` covers [first + j, first + j + 1). The window is [begin, end), cut at begin +
/// cut * (end - begin).
inline double divergence(const std::vector<std::uint64_t>& counts, std::int64_t first,
                         std::int64_t begin, std::int64_t end, const std::vector<double>& cuts) {
  const auto n = static_cast<std::size_t>(end - begin);
  std::vector<double> inside(n), q(n);
  double below = 0, above = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::int64_t bin = first + static_cast<std::int64_t>(i);
    const auto c = static_cast<double>(counts[i]);
    if (bin < begin) below += c;
    else if (bin >= end) above += c;
    else inside[static_cast<std::size_t>(bin - begin)] += c;
  }
  std::vector<double> p = inside;
  p.front() += below;
  p.back() += above;
  for (std::size_t k = 0; k <= cuts.size(); ++k) {
    const double lo = k == 0 ? 0 : cuts[k - 1] * static_cast<double>(n);
    const double hi = k == cuts.size() ? static_cast<double>(n) : cuts[k] * static_cast<double>(n);
    const auto overlap = [&](std::size_t j) {
      return std::max(
          0.0, std::min(hi, static_cast<double>(j + 1)) - std::max(lo, static_cast<double>(j)));
    };
    double mass = 0, filled = 0;
    for (std::size_t j = 0; j < n; ++j) {
      mass += inside[j] * overlap(j);
      if (inside[j] > 0) filled += overlap(j);
    }
    for (std::size_t j = 0; j < n; ++j)
      if (inside[j] > 0 && filled > 0) q[j] += mass / filled * overlap(j);
  }
  double p_sum = 0, q_sum = 0, kl = 0;
  for (const double v : p) p_sum += v;
  for (const double v : q) q_sum += v;
  if (!(q_sum > 0)) return std::numeric_limits<double>::infinity();
  for (std::size_t j = 0; j < n; ++j) {
    if (p[j] == 0) continue;
    if (q[j] == 0) return std::numeric_limits<double>::infinity();
    kl += p[j] / p_sum * std::log(p[j] / p_sum / (q[j] / q_sum));
  }
  return kl;
}

}  // namespace divergence_oracle

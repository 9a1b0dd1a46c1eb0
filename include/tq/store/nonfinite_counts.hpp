// SPDX-License-Identifier: MIT
#pragma once
// NonFiniteCounts: numbers of NaN and infinity among values.

#include <tq/config.hpp>

#include <cmath>
#include <cstdint>

namespace tq::store {

/// Numbers of values that are not finite.
struct NonFiniteCounts {
  std::uint64_t nan = 0, infinite = 0;

  /// True for a finite x; counts any other.
  bool is_finite(float x) {
    nan += std::isnan(x) ? 1u : 0u;
    infinite += std::isinf(x) ? 1u : 0u;
    return std::isfinite(x);
  }
  void add(const NonFiniteCounts& other) {
    nan += other.nan;
    infinite += other.infinite;
  }
  [[nodiscard]] std::uint64_t all() const { return nan + infinite; }
};

}  // namespace tq::store

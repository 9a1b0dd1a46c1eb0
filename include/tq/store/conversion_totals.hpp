// SPDX-License-Identifier: MIT
#pragma once
// ConversionTotals: sums over the tensors of a conversion.

#include <tq/store/nonfinite_counts.hpp>

#include <cstddef>
#include <cstdint>

namespace tq {

/// The sums of all tensors of a conversion.
struct ConversionTotals {
  std::uint64_t bytes_before = 0, bytes_after = 0;
  std::uint64_t weights = 0, weight_bytes = 0;  ///< of tensors that are quantized
  std::size_t tensors = 0, quantized = 0, decoded = 0;
  store::NonFiniteCounts nonfinite{};

  [[nodiscard]] double bits_per_weight() const noexcept {
    return weights == 0 ? 0.0
                        : 8.0 * static_cast<double>(weight_bytes) / static_cast<double>(weights);
  }
};

}  // namespace tq

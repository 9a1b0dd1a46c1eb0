// SPDX-License-Identifier: MIT
#pragma once
// FinitePart: the finite values of a tensor, whose errors can be told.

#include <tq/bodies.hpp>
#include <tq/store/nonfinite_counts.hpp>

#include <span>
#include <vector>

namespace tq::store {

/// Pairs of a finite value and the value that it became.
class FinitePart {
 public:
  /// If not `may_be_nonfinite`, values are not looked at.
  explicit FinitePart(bool may_be_nonfinite) : may_be_nonfinite_(may_be_nonfinite) {}

  /// The results refer to the arguments, or to memory that the next call overwrites.
  TQ_API void take(std::span<const float> values, std::span<const float> back);
  [[nodiscard]] std::span<const float> values() const { return values_; }
  [[nodiscard]] std::span<const float> back() const { return back_; }
  /// Values that the last call left out.
  [[nodiscard]] const NonFiniteCounts& left_out() const { return counts_; }

 private:
  bool may_be_nonfinite_;
  std::span<const float> values_, back_;
  std::vector<float> kept_, kept_back_;
  NonFiniteCounts counts_;
};

}  // namespace tq::store

#ifndef TQ_FILE_LIBRARY
#include <tq/store/finite_part.ipp>
#endif

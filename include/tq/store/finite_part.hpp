// SPDX-License-Identifier: MIT
#pragma once
// FinitePart: the finite values of a tensor, whose errors can be told.

#include <tq/store/nonfinite_counts.hpp>

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace tq::store {

/// Pairs of a finite value and the value that it became.
class FinitePart {
 public:
  /// If not `may_be_nonfinite`, values are not looked at.
  explicit FinitePart(bool may_be_nonfinite) : may_be_nonfinite_(may_be_nonfinite) {}

  /// The results refer to the arguments, or to memory that the next call overwrites.
  void take(std::span<const float> values, std::span<const float> back) {
    counts_ = {};
    values_ = values;
    back_ = back;
    if (!may_be_nonfinite_) return;
    for (const float x : values) counts_.is_finite(x);
    if (counts_.all() == 0) return;
    kept_.clear();
    kept_back_.clear();
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!std::isfinite(values[i])) continue;
      kept_.push_back(values[i]);
      kept_back_.push_back(back[i]);
    }
    values_ = kept_;
    back_ = kept_back_;
  }
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

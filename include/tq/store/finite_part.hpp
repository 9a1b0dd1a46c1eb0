// SPDX-License-Identifier: MIT
#pragma once
// The values whose error can be told: those that were finite.

#include <tq/error.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tq::store {

// What values are not finite.
struct NonFiniteCounts {
  std::uint64_t nan = 0, infinite = 0;

  // Whether x is finite; counts it if not.
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

// Of values and of what became of them, the pairs whose value is finite.
class FinitePart {
 public:
  // Where all values are finite anyway, they are not looked at.
  explicit FinitePart(bool may_be_nonfinite) : may_be_nonfinite_(may_be_nonfinite) {}

  // The results refer to the arguments, or to what the next call overwrites.
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
  // Of what was left out by the last call.
  [[nodiscard]] const NonFiniteCounts& left_out() const { return counts_; }

 private:
  bool may_be_nonfinite_;
  std::span<const float> values_, back_;
  std::vector<float> kept_, kept_back_;
  NonFiniteCounts counts_;
};

}  // namespace tq::store

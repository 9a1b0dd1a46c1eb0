// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/store/finite_part.hpp.

#include <tq/store/finite_part.hpp>

#include <cmath>
#include <cstddef>

namespace tq::store {

TQ_API void FinitePart::take(std::span<const float> values, std::span<const float> back) {
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

}  // namespace tq::store

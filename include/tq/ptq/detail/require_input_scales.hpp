// SPDX-License-Identifier: MIT
#pragma once
// require_input_scales: scales of inputs, one each, that weights can be multiplied by.

#include <tq/error.hpp>

#include <cmath>
#include <cstddef>
#include <span>
#include <string>

namespace tq::detail {

/// Throws: `errc::shape_mismatch` unless there is a scale for each input; `errc::bad_scale` unless
/// all are positive and finite.
inline void require_input_scales(const char* function, std::span<const float> scales,
                                 std::size_t inputs) {
  if (scales.size() != inputs)
    raise(errc::shape_mismatch, std::string(function) + ": expected scales of " +
                                    std::to_string(inputs) + " inputs, got " +
                                    std::to_string(scales.size()));
  for (std::size_t i = 0; i < inputs; ++i)
    if (!(scales[i] > 0 && std::isfinite(scales[i])))
      raise(errc::bad_scale, std::string(function) + ": expected positive finite scales, got " +
                                 number_text(scales[i]) + " for input " + std::to_string(i));
}

}  // namespace tq::detail

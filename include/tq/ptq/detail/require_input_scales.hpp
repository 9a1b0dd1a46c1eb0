// SPDX-License-Identifier: MIT
#pragma once
// require_input_scales: scales of inputs, one each, that weights can be multiplied by.

#include <tq/error.hpp>

#include <cmath>
#include <cstddef>
#include <span>

namespace tq::detail {

/// Throws: `errc::shape_mismatch` unless there is a scale for each input; `errc::bad_scale` unless
/// all are positive and finite.
inline void require_input_scales(const char* function, std::span<const float> scales,
                                 std::size_t inputs) {
  if (scales.size() != inputs)
    raise_expected(errc::shape_mismatch, function, {"scales of ", inputs, " inputs"},
                   {scales.size()});
  for (std::size_t i = 0; i < inputs; ++i)
    if (!(scales[i] > 0 && std::isfinite(scales[i])))
      raise_expected(errc::bad_scale, function, {"positive finite scales"},
                     {scales[i], " for input ", i});
}

}  // namespace tq::detail

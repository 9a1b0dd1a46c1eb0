// SPDX-License-Identifier: MIT
#pragma once
// Clamp: an activation function that is part of a layer.

#include <tq/error.hpp>

#include <limits>

namespace tq {

/// An activation function that is part of a layer: outputs below `low` become it, those above
/// `high` become that.
struct Clamp {
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();

  [[nodiscard]] static constexpr Clamp relu() noexcept { return {.low = 0.0f}; }
  [[nodiscard]] static constexpr Clamp relu6() noexcept { return {0.0f, 6.0f}; }
};

namespace detail {
inline void require_clamp(const char* function, const Clamp& c) {
  if (!(c.low <= c.high))
    raise_expected(errc::bad_argument, function, {"a clamp from low to high"},
                   {c.low, " to ", c.high});
}
}  // namespace detail

}  // namespace tq

// SPDX-License-Identifier: MIT
#pragma once
// Clamp: an activation function that is part of a layer.

#include <tq/error.hpp>

#include <limits>
#include <string>

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
    raise(errc::bad_argument, std::string(function) + ": expected a clamp from low to high, got " +
                                  number_text(c.low) + " to " + number_text(c.high));
}
}  // namespace detail

}  // namespace tq

// SPDX-License-Identifier: MIT
#pragma once
// require_weight_extents: weights that no memory holds are refused, and those whose extents no
// element bounds.

#include <tq/core/detail/sizes.hpp>
#include <tq/core/granularity.hpp>
#include <tq/core/shape.hpp>
#include <tq/error.hpp>

#include <cstddef>

namespace tq::detail {

// Whether weights may have this shape. Packing takes memory and time for every output and input,
// which elements bound where there are some.
[[nodiscard]] constexpr bool bounds_weights(const Shape& shape) noexcept {
  if (shape.size() != 0) return has_size(shape);
  for (const std::size_t extent : shape.extents())
    if (extent > most_without_elements) return false;
  return true;
}

// Throws: `errc::bad_argument`.
inline void require_weight_extents(const char* function, const Shape& shape) {
  static_cast<void>(require_extents(function, shape));
  if (!bounds_weights(shape))
    raise_expected(errc::bad_argument, function,
                   {"extents of at most ", most_without_elements, " of weights without elements"},
                   {shape.extents()});
}

}  // namespace tq::detail

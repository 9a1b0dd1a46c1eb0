// SPDX-License-Identifier: MIT
#pragma once
// Shapes of extents whose products and sums wrap, for everything that takes a shape.

#include <tq/core/shape.hpp>
#include <tq/error.hpp>

#include <array>
#include <cstddef>
#include <string>

#include "support/catch.hpp"

namespace test {

inline constexpr std::array<std::size_t, 8> extents{0,
                                                    1,
                                                    std::size_t{1} << 31,
                                                    std::size_t{1} << 32,
                                                    std::size_t{1} << 48,
                                                    std::size_t{1} << 62,
                                                    std::size_t{1} << 63,
                                                    static_cast<std::size_t>(-1)};

/// Calls f(shape) for every shape of that rank.
template <class F>
void for_each_shape(int rank, const F& f) {
  std::array<std::size_t, 4> at{};
  std::size_t shapes = 1;
  for (int axis = 0; axis < rank; ++axis) shapes *= extents.size();
  for (std::size_t i = 0; i < shapes; ++i) {
    std::size_t rest = i;
    for (int axis = 0; axis < rank; ++axis, rest /= extents.size())
      at[static_cast<std::size_t>(axis)] = extents[rest % extents.size()];
    f(tq::Shape(std::span<const std::size_t>(at.data(), static_cast<std::size_t>(rank))));
  }
}

/// Whether a view of one element may have this shape: a view of more would lie, unless it is of
/// more than any memory has, which is to be refused.
inline bool fits_one_element(const tq::Shape& shape) {
  return shape.size() <= 1 || !tq::detail::has_size(shape);
}

/// Runs f(), which must work or throw a tq::error that names its function.
template <class F>
void works_or_refuses(const F& f) {
  try {
    f();
  } catch (const tq::error& e) {
    if (!std::string(e.what()).starts_with("tq::"))
      FAIL_CHECK("an error without a name: " << e.what());
  }
}

}  // namespace test

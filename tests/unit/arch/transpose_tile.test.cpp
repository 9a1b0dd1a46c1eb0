// SPDX-License-Identifier: MIT
#include <tq/arch/transpose_tile.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/catch.hpp"

#if TQ_HAS_SIMD

namespace {

using Arch = tq::arch::native;

// Columns of a square at any distance become rows at any other, and nothing around them changes.
template <class T>
void check() {
  constexpr std::size_t side = tq::arch::square_side<Arch, sizeof(T)>;
  static_assert(side * sizeof(T) == 16 || side * sizeof(T) == 32);
  for (const std::size_t column : {side, side + 1, 3 * side})
    for (const std::size_t row : {side, side + 3}) {
      std::vector<T> from(column * side), to(row * side, T{99}), wanted = to;
      for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<T>(i * 37 + 11);
      for (std::size_t i = 0; i < side; ++i)
        for (std::size_t k = 0; k < side; ++k) wanted[i * row + k] = from[k * column + i];
      tq::arch::turn_square<Arch>(from.data(), static_cast<std::ptrdiff_t>(column), to.data(),
                                  static_cast<std::ptrdiff_t>(row));
      CHECK(to == wanted);
    }
}

}  // namespace

TEST_CASE("squares of elements of every size are turned", "[square]") {
  check<std::uint8_t>();
  check<std::uint16_t>();
  check<std::uint32_t>();
  check<std::uint64_t>();
}

#else
TEST_CASE("there are no squares without SIMD", "[square]") {
  CHECK(tq::arch::square_side<tq::arch::scalar, 4> == 0);
}
#endif

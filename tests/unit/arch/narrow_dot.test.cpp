// SPDX-License-Identifier: MIT
#include <tq/arch/narrow_dot.hpp>

#include <cstdint>
#include <limits>
#include <string>

#include "support/catch.hpp"

namespace {
struct Wide {};
struct Narrow {
  static constexpr bool narrow = true;
};
}  // namespace

TEST_CASE("two weights are narrow where their products with the largest bytes fit 16 bits") {
  using limits = std::numeric_limits<std::int16_t>;
  std::string failures;
  for (std::int32_t a = -128; a <= 127; ++a)
    for (std::int32_t b = -128; b <= 127; ++b) {
      bool fits = true;
      for (const std::int32_t u : {0, 255})
        for (const std::int32_t v : {0, 255})
          fits = fits && u * a + v * b >= limits::min() && u * a + v * b <= limits::max();
      if (fits != tq::arch::is_narrow(a, b))
        failures += std::to_string(a) + ", " + std::to_string(b) + "\n";
    }
  CHECK(failures == "");
}

TEST_CASE("a dot is one of narrow weights if it says so") {
  STATIC_REQUIRE_FALSE(tq::arch::NarrowDot<Wide>);
  STATIC_REQUIRE(tq::arch::NarrowDot<Narrow>);
}

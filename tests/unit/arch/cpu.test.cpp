// SPDX-License-Identifier: MIT
#include <tq/arch/cpu.hpp>

#include "support/catch.hpp"

TEST_CASE("streaming starts above the size of the last cache", "[cpu]") {
  const std::size_t cache = tq::arch::last_level_cache();
  CHECK(cache > 0);
  CHECK_FALSE(tq::arch::worth_streaming(0));
  CHECK_FALSE(tq::arch::worth_streaming(cache));
  CHECK(tq::arch::worth_streaming(cache + 1));
}

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

TEST_CASE("how the processor likes to read is asked once and stays", "[cpu]") {
  CHECK(tq::arch::reads_pages_side_by_side() == tq::arch::reads_pages_side_by_side());
  CHECK(tq::arch::looks_ahead_late() == tq::arch::looks_ahead_late());
  CHECK_FALSE((tq::arch::reads_pages_side_by_side() && tq::arch::looks_ahead_late()));  // they are of different makers
  CHECK((tq::arch::divides_fast() || !tq::arch::looks_ahead_late()));                   // which is the later one
  CHECK(tq::arch::adds_zero_faster() == tq::arch::looks_ahead_late());                  // both are Zen 5
  CHECK(tq::arch::keeps_parameters() == tq::arch::looks_ahead_late());                  // the same
#if !defined(__x86_64__)
  CHECK_FALSE(tq::arch::reads_pages_side_by_side());
  CHECK_FALSE(tq::arch::looks_ahead_late());
#endif
}

// SPDX-License-Identifier: MIT
#include <tq/core/arithmetic.hpp>

#include "support/catch.hpp"

#include <cfenv>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

TEST_CASE("arithmetic is that of IEEE 754 in this build") { CHECK(tq::ieee_arithmetic()); }

TEST_CASE("directed rounding is found out") {
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    REQUIRE(std::fesetround(mode) == 0);
    const bool found = !tq::ieee_arithmetic();
    std::fesetround(FE_TONEAREST);
    CHECK(found);
  }
  CHECK(tq::ieee_arithmetic());
}

#if defined(__SSE2__)
TEST_CASE("processors that flush subnormal numbers to zero are found out") {
  const unsigned before = _mm_getcsr();
  for (const unsigned flag : {0x8000u, 0x0040u}) {  // FTZ, DAZ
    _mm_setcsr(before | flag);
    const bool found = !tq::ieee_arithmetic();
    _mm_setcsr(before);
    CHECK(found);
  }
  CHECK(tq::ieee_arithmetic());
}
#endif

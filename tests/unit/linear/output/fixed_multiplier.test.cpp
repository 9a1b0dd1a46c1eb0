// SPDX-License-Identifier: MIT
#include <tq/linear/output/fixed_multiplier.hpp>

#include <cmath>
#include <cstdint>
#include <limits>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"

using tq::FixedMultiplier;

TEST_CASE("a factor is a mantissa of 31 bits and a power of two") {
  CHECK(FixedMultiplier::of(0) == FixedMultiplier{0, 0});
  CHECK(FixedMultiplier::of(1) == FixedMultiplier{1 << 30, 1});
  CHECK(FixedMultiplier::of(0.5) == FixedMultiplier{1 << 30, 0});
  CHECK(FixedMultiplier::of(0.25) == FixedMultiplier{1 << 30, -1});
  CHECK(FixedMultiplier::of(3) == FixedMultiplier{3 << 29, 2});
  // The mantissa is rounded up to 2^31, which carries.
  CHECK(FixedMultiplier::of(1 - 0x1p-40) == FixedMultiplier{1 << 30, 1});
  CHECK(FixedMultiplier::of(0x1p-32) == FixedMultiplier{1 << 30, -31});
  CHECK(FixedMultiplier::of(0x1.fffp-33) == FixedMultiplier{0, 0});
  CHECK(FixedMultiplier::of(5e-324) == FixedMultiplier{0, 0});
  CHECK(FixedMultiplier::of(0x1p29) == FixedMultiplier{1 << 30, 30});
  const FixedMultiplier largest{std::numeric_limits<std::int32_t>::max(), 30};
  CHECK(FixedMultiplier::of(0x1p30) == largest);
  CHECK(FixedMultiplier::of(std::numeric_limits<double>::max()) == largest);
}

TEST_CASE("the multiplier is the nearest of its exponent") {
  inputs::Random r(1);
  double worst = 0;
  bool normal = true;
  for (int i = 0; i < 100'000; ++i) {
    const double factor = std::ldexp(0.5 + r.unit() / 2, r.between(-31, 29));
    const FixedMultiplier m = FixedMultiplier::of(factor);
    normal = normal && m.mantissa >= 1 << 30;
    worst = std::fmax(worst, std::fabs(std::ldexp(m.mantissa, m.exponent - 31) - factor) /
                                 std::ldexp(1, m.exponent - 31));
  }
  CHECK(normal);
  CHECK(worst <= 0.5);
}

TEST_CASE("the multiplier is that of integers") {
  inputs::Random r(2);
  int wrong = 0;
  for (int i = 0; i < 100'000; ++i) {
    // 53 bits times a power of two: 22 of them are rounded away, a tie up.
    const std::int64_t bits = (std::int64_t{1} << 52) | static_cast<std::int64_t>(r.bits() >> 12);
    const std::int64_t tie = r.chance(20) ? ((bits >> 22) << 22) | (1 << 21) : bits;
    const int exponent = r.between(-31, 29);
    std::int64_t mantissa = (tie + (1 << 21)) >> 22;
    const bool carries = mantissa == std::int64_t{1} << 31;
    if (carries) mantissa >>= 1;
    const FixedMultiplier wanted{static_cast<std::int32_t>(mantissa), exponent + carries};
    wrong += !(FixedMultiplier::of(std::ldexp(static_cast<double>(tie), exponent - 53)) == wanted);
  }
  CHECK(wrong == 0);
}

TEST_CASE("factors that are none are refused") {
  for (const double bad : {-1.0, -0x1p-1074, std::numeric_limits<double>::infinity(), std::nan("")})
    test::raises(tq::errc::bad_scale, {"a finite factor of at least 0"},
                 [&] { (void)FixedMultiplier::of(bad); });
}

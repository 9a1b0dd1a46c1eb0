// SPDX-License-Identifier: MIT
#include <tq/numeric/range_arithmetic.hpp>

#include <cstdint>
#include <limits>
#include <string_view>

#include "support/catch.hpp"

namespace {

struct MayThrow : tq::RangeInDouble {
  static float scale(float, float, double) { return 1.0f; }
};
static_assert(tq::RangeArithmetic<tq::RangeInDouble> && tq::RangeArithmetic<tq::RangeInFloat> &&
              tq::RangeArithmetic<tq::RangeInFloatRoundFirst>);
static_assert(!tq::RangeArithmetic<MayThrow> && !tq::RangeArithmetic<int>);

constexpr float most = std::numeric_limits<float>::max();

}  // namespace

TEST_CASE("a width rounded to float32 makes another scale", "[range_arithmetic]") {
  // 1 + 2^-24 is 1 in float32.
  CHECK(tq::RangeInFloat::scale(-0x1p-24f, 1.0f, 255) == 1.0f / 255);
  int differ = 0;
  for (int i = 1; i < 1000; ++i) {
    const float hi = 1.0f / static_cast<float>(i), lo = -hi / 3;
    const float in_float = tq::RangeInFloat::scale(lo, hi, 255),
                in_double = tq::RangeInDouble::scale(lo, hi, 255);
    CHECK(tq::RangeInFloatRoundFirst::scale(lo, hi, 255) == in_float);
    differ += in_float != in_double;
    CHECK(in_float - in_double <= 1.2e-7f * in_double);
    CHECK(in_double - in_float <= 1.2e-7f * in_double);
  }
  CHECK(differ > 0);
}

TEST_CASE("a width that float32 does not hold has a scale", "[range_arithmetic]") {
  CHECK(tq::RangeInFloat::scale(-most, most, 2) == most);
  CHECK(tq::RangeInFloat::scale(-most, most, 4) == most / 2);
  CHECK(tq::RangeInDouble::scale(-most, most, 4) == most / 2);
}

TEST_CASE("zero points round the sum, or what is taken from qmin", "[range_arithmetic]") {
  CHECK(tq::RangeInFloat::zero_point(-0.49999997f, 1.0f, -128) ==
        -128.0f);  // -127.5 in float32, to even
  CHECK(tq::RangeInFloatRoundFirst::zero_point(-0.49999997f, 1.0f, -128) == -128.0f);
  CHECK(tq::RangeInFloat::zero_point(-0.50000006f, 1.0f, -128) == -128.0f);
  CHECK(tq::RangeInFloatRoundFirst::zero_point(-0.50000006f, 1.0f, -128) == -127.0f);
  CHECK(tq::RangeInDouble::zero_point(-0.50000006f, 1.0f, -128) == -127.0);
}

TEST_CASE("offsets are sums in double, or of a rounded product", "[range_arithmetic]") {
  // 3 * (1 + 2^-23) is 3 + 2^-21 in float32.
  constexpr float scale = 1 + 0x1p-23f;
  CHECK(tq::RangeInDouble::offset(-3.0f, scale, -3) == 0x1.8p-22f);
  CHECK(tq::RangeInFloat::offset(-3.0f, scale, -3) == 0x1p-21f);
  CHECK(tq::RangeInFloatRoundFirst::offset(-3.0f, scale, -3) == 0x1p-21f);
  CHECK(tq::RangeInFloat::offset(0.1f, 7.0f, 0) == 0.1f);
}

TEST_CASE("codes of 32 bits are sums in double, or in float32", "[range_arithmetic]") {
  CHECK(tq::RangeInDouble::plus(1.0f, 16777216) == 16777217.0);
  CHECK(tq::RangeInFloat::plus(1.0f, 16777216) == 16777217.0);
  CHECK(tq::RangeInFloatRoundFirst::plus(1.0f, 16777216) == 16777216.0);
  CHECK(tq::RangeInFloatRoundFirst::plus(0.0f, std::numeric_limits<std::int32_t>::max()) ==
        2147483648.0);
}

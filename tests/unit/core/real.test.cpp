// SPDX-License-Identifier: MIT
#include <tq/core/real.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "support/catch.hpp"

static_assert(tq::Real<float> && tq::Real<double> && tq::Real<tq::float16> &&
              tq::Real<tq::bfloat16>);
static_assert(!tq::Real<int> && !tq::Real<std::uint16_t> && !tq::Real<tq::float8_e4m3fn> &&
              !tq::Real<long double>);
static_assert(sizeof(tq::float16) == 2 && sizeof(tq::bfloat16) == 2);
static_assert(std::is_trivially_copyable_v<tq::float16> &&
              std::is_trivially_default_constructible_v<tq::bfloat16>);

TEST_CASE("float16 and bfloat16 are values of 16 bits", "[real]") {
  CHECK(tq::float16(1.5f).code == 0x3e00);
  CHECK(tq::bfloat16(1.5f).code == 0x3fc0);
  CHECK(float(tq::float16(65504.0f)) == 65504.0f);
  CHECK(float(tq::float16(-65520.0f)) == -std::numeric_limits<float>::infinity());
  CHECK(float(tq::float16(2049.0f)) == 2048.0f);  // nearest even
  CHECK(float(tq::float16(2051.0f)) == 2052.0f);
  CHECK(float(tq::bfloat16(257.0f)) == 256.0f);
  CHECK(std::isnan(float(tq::float16(std::numeric_limits<float>::quiet_NaN()))));
}

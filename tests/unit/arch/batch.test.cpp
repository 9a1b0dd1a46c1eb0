// SPDX-License-Identifier: MIT
#include <tq/arch/batch.hpp>

#include <cmath>
#include <cstddef>
#include <limits>

#include "support/catch.hpp"
#include "support/inputs.hpp"

#if TQ_HAS_SIMD

namespace {
using Arch = tq::arch::native;
using F = tq::arch::floats<Arch>;
using I = tq::arch::ints<Arch>;
constexpr std::size_t width = tq::arch::width<Arch>;
constexpr float nan_value = std::numeric_limits<float>::quiet_NaN(),
                inf = std::numeric_limits<float>::infinity();

float first(const F& v) {
  float lanes[width];
  v.store_unaligned(lanes);
  return lanes[0];
}
int first(const I& v) {
  int lanes[width];
  v.store_unaligned(lanes);
  return lanes[0];
}
}  // namespace

TEST_CASE("NaN lanes are replaced, and no others", "[batch]") {
  const F other(7.0f);
  CHECK(first(tq::arch::replace_nan<Arch>(F(nan_value), other)) == 7);
  CHECK(first(tq::arch::replace_nan<Arch>(F(inf), other)) == inf);
  CHECK(first(tq::arch::replace_nan<Arch>(F(-2.5f), other)) == -2.5f);
}

TEST_CASE("clamping", "[batch]") {
  const F lo(-3.0f), hi(5.0f);
  for (const float v : {-inf, -4.0f, -3.0f, 0.0f, 4.5f, 5.0f, 6.0f, inf})
    CHECK(first(tq::arch::clamp<Arch>(F(v), lo, hi)) == std::fmin(std::fmax(v, -3.0f), 5.0f));
}

TEST_CASE("conversions to integer round to nearest even, and truncate", "[batch]") {
  inputs::Random r(1);
  for (int i = 0; i < 2000; ++i) {
    const float v =
        inputs::nudge(static_cast<float>(r.between(-70000, 70000)) * 0.5f, r.between(-1, 1));
    REQUIRE(first(tq::arch::round_to_int<Arch>(F(v))) == static_cast<int>(std::nearbyint(v)));
    REQUIRE(first(tq::arch::round_even<Arch>(F(v))) == std::nearbyint(v));
    REQUIRE(first(tq::arch::truncate_to_int<Arch>(F(v))) == static_cast<int>(v));
    REQUIRE(first(tq::arch::uncontracted<Arch>(F(v))) == v);
  }
}

#else
TEST_CASE("there are no batches without SIMD", "[batch]") { SUCCEED(); }
#endif

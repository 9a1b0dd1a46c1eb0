// SPDX-License-Identifier: MIT
#include <tq/core/float_elements.hpp>
#include <tq/numeric/fixed_format.hpp>

#include <cstdint>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/format_oracle.hpp"

namespace {

using F = tq::fixed8::format;
constexpr float inf = std::numeric_limits<float>::infinity(),
                nan_value = std::numeric_limits<float>::quiet_NaN();

static_assert(F::bits == 8 && F::emax == 0 && F::max_finite == 127.0f / 64 &&
              F::smallest_subnormal == 1.0f / 64);
static_assert(F::encode(1.0f) == 64 && F::encode(-1.0f) == 192 && F::encode(5.0f) == 127 &&
              F::decode(128) == -2.0f);
static_assert(tq::FixedFormat<4, 1>::encode(-9.0f) == 9 &&
              tq::FixedFormat<4, 1>::decode(9) == -3.5f);

template <class R>
void check(const R& r) {
  const oracle::Format f = oracle::format<tq::fixed8>();
  const std::vector<double> marks = oracle::marks(f);
  inputs::Random random(4);
  int failed = 0;
  for (int i = 0; i < 20000; ++i) {
    const float x = oracle::value_near(marks, 1.0f, random);
    const std::uint64_t index = random.bits();
    const std::uint32_t wanted = oracle::encode(f, static_cast<double>(x), r, true, index);
    failed += F::encode<tq::Saturate>(x, r, index) != wanted;
    failed += F::encode<tq::NonSaturate>(x, r, index) != wanted;
  }
  INFO(R::name);
  CHECK(failed == 0);
}

}  // namespace

TEST_CASE("every fixed-point code but the lowest comes back", "[fixed_format]") {
  const oracle::Format f = oracle::format<tq::fixed8>();
  for (std::uint32_t c = 0; c < 256; ++c) {
    CHECK(static_cast<double>(F::decode(c)) == f.value(c));
    CHECK(F::decode(c + 512) == F::decode(c));
    CHECK(F::encode(F::decode(c)) == (c == 128 ? 129 : c));
  }
}

TEST_CASE("fixed point rounds every way", "[fixed_format]") {
  check(tq::NearestEven{});
  check(tq::HalfAway{});
  check(tq::HalfUp{});
  check(tq::TowardZero{});
  check(tq::Floor{});
  check(tq::Stochastic{8});
}

TEST_CASE("fixed point has neither NaN nor infinity nor -0", "[fixed_format]") {
  CHECK(F::encode(nan_value) == 0);
  CHECK(F::encode(inf) == 127);
  CHECK(F::encode<tq::NonSaturate>(-inf) == 129);
  CHECK(F::encode(-0.0f) == 0);
  CHECK(F::encode(-0.5f / 64) == 0);
  CHECK(F::encode(1.5f / 64) == 2);
}

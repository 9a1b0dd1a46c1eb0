// SPDX-License-Identifier: MIT
#include <tq/core/float_elements.hpp>
#include <tq/numeric/float_format.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/format_oracle.hpp"

namespace {

constexpr float nan_value = std::numeric_limits<float>::quiet_NaN(),
                inf = std::numeric_limits<float>::infinity();
constexpr float biggest = std::numeric_limits<float>::max();

using e4m3fn = tq::float8_e4m3fn::format;
using e5m2 = tq::float8_e5m2::format;
using e4m3fnuz = tq::float8_e4m3fnuz::format;
using e5m2fnuz = tq::float8_e5m2fnuz::format;
using e2m3 = tq::float6_e2m3fn::format;
using e3m2 = tq::float6_e3m2fn::format;
using e2m1 = tq::float4_e2m1fn::format;
using f16 = tq::float16::format;
using bf16 = tq::bfloat16::format;

// In constant expressions.
static_assert(e4m3fn::max_finite == 448 && e4m3fn::smallest_normal == 0x1p-6f &&
              e4m3fn::smallest_subnormal == 0x1p-9f);
static_assert(e5m2::max_finite == 57344 && e5m2::smallest_normal == 0x1p-14f &&
              e5m2::smallest_subnormal == 0x1p-16f);
static_assert(e4m3fnuz::max_finite == 240 && e4m3fnuz::smallest_subnormal == 0x1p-10f);
static_assert(e5m2fnuz::max_finite == 57344 && e5m2fnuz::smallest_subnormal == 0x1p-17f);
static_assert(e2m3::max_finite == 7.5f && e2m3::smallest_normal == 1 &&
              e2m3::smallest_subnormal == 0.125f);
static_assert(e3m2::max_finite == 28 && e3m2::smallest_normal == 0.25f &&
              e3m2::smallest_subnormal == 0.0625f);
static_assert(e2m1::max_finite == 6 && e2m1::smallest_normal == 1 &&
              e2m1::smallest_subnormal == 0.5f);
static_assert(f16::max_finite == 65504 && f16::smallest_normal == 0x1p-14f &&
              f16::smallest_subnormal == 0x1p-24f);
static_assert(bf16::max_finite == 0x1.fep127f && bf16::smallest_normal == 0x1p-126f &&
              bf16::smallest_subnormal == 0x1p-133f);
static_assert(e4m3fn::emax == 8 && e5m2::emax == 15 && e4m3fnuz::emax == 7 &&
              e5m2fnuz::emax == 15 && e2m3::emax == 2 && e3m2::emax == 4 && e2m1::emax == 2 &&
              f16::emax == 15 && bf16::emax == 127);
static_assert(e4m3fn::encode(464.0f) == 0x7e && e4m3fn::encode<tq::NonSaturate>(464.0f) == 0x7e);
static_assert(e4m3fn::encode<tq::NonSaturate>(0x1.d00002p8f) == 0x7f);
static_assert(e4m3fn::encode<tq::NonSaturate>(0x1.d000000000001p8) == 0x7f &&
              e4m3fn::encode(0x1.1000000000001p0) == 0x39);
static_assert(e4m3fn::encode(1.0625f, tq::HalfAway{}) == 0x39 &&
              e4m3fn::encode(-1.0625f, tq::HalfUp{}) == 0xb8);
static_assert(e4m3fn::encode(-1.01f, tq::Floor{}) == 0xb9 &&
              e4m3fn::encode(-1.12f, tq::TowardZero{}) == 0xb8);
static_assert(e2m1::encode(2.5f) == 4 && e2m1::encode(-5.0f) == 14 && e2m1::encode(1e30) == 7);
static_assert(e4m3fn::encode(2.1f, tq::Stochastic{3}, 7) ==
              e4m3fn::encode(2.1f, tq::Stochastic{3}, 7));

template <class T, class R>
void check_value(float x, const R& r, std::uint64_t index, int& failed, std::string& first) {
  using F = typename T::format;
  const oracle::Format& f = oracle::cached_format<T>();
  const auto check = [&](bool saturate, std::uint32_t got) {
    const std::uint32_t wanted = oracle::encode(f, static_cast<double>(x), r, saturate, index);
    if (got == wanted || ++failed > 1) return;
    std::ostringstream text;
    text << T::name << ' ' << R::name << (saturate ? " saturating " : " ") << std::hexfloat << x
         << ": expected " << std::hex << wanted << ", got " << got;
    first = text.str();
  };
  check(true, F::template encode<tq::Saturate>(x, r, index));
  check(false, F::template encode<tq::NonSaturate>(x, r, index));
}

// Every step-th value of float16 and bfloat16, floats next to all marks of the format, and any.
template <class T, class R>
void check_rounding(const R& r, std::uint32_t step) {
  int failed = 0;
  std::string first;
  for (const oracle::Format* half :
       {&oracle::cached_format<tq::float16>(), &oracle::cached_format<tq::bfloat16>()})
    for (std::uint32_t c = 0; c < 65536; c += step)
      check_value<T>(static_cast<float>(half->value(c)), r, c, failed, first);
  const std::vector<double> marks = oracle::marks(oracle::cached_format<T>());
  for (std::size_t i = 0; i < marks.size(); i += marks.size() > 2000 ? 17 : 1)
    for (int d = -2; d <= 2; ++d)
      check_value<T>(inputs::nudge(static_cast<float>(marks[i]), d), r, i, failed, first);
  inputs::Random random(1);
  for (int i = 0; i < 5000; ++i) {
    check_value<T>(oracle::value_near(marks, 1.0f, random), r, random.bits(), failed, first);
    check_value<T>(inputs::any_bits(random), r, random.bits(), failed, first);
  }
  INFO(failed << " differ; the first: " << first);
  CHECK(failed == 0);
}

template <class T>
void check_format() {
  using F = typename T::format;
  const oracle::Format f = oracle::format<T>();
  int failed = 0;
  for (std::uint32_t c = 0; c < f.values.size(); ++c) {
    const float v = F::decode(c);
    failed += !oracle::same(v, static_cast<float>(f.value(c)));
    failed += F::is_nan(c) != oracle::is_nan(f.value(c));
    failed += !oracle::same(F::decode(c + (3u << F::bits)), v);  // other bits do not matter
    if (oracle::is_nan(f.value(c))) continue;
    // Every code of a number, and of infinity, comes back.
    if (std::isfinite(v)) failed += F::encode(v) != c || F::encode(static_cast<double>(v)) != c;
    failed += F::template encode<tq::NonSaturate>(v) != c;
  }
  INFO(T::name);
  CHECK(failed == 0);
  CHECK(F::bits == f.bits);
  CHECK(static_cast<double>(F::max_finite) == f.magnitudes[f.largest()]);
  CHECK(static_cast<double>(F::smallest_subnormal) == f.magnitudes[1]);
  CHECK(static_cast<double>(F::smallest_normal) == std::ldexp(1.0, 1 - f.bias));
  CHECK(F::emax == std::ilogb(F::max_finite));
  check_rounding<T>(tq::NearestEven{}, 1);
  check_rounding<T>(tq::HalfAway{}, 7);
  check_rounding<T>(tq::HalfUp{}, 7);
  check_rounding<T>(tq::TowardZero{}, 7);
  check_rounding<T>(tq::Floor{}, 7);
  check_rounding<T>(tq::Stochastic{0x123456789abcdefu}, 7);
}

// Doubles that round wrong by way of float: ties with anything added, to both sides.
template <class T, class R>
void check_double(const R& r) {
  using F = typename T::format;
  const oracle::Format& f = oracle::cached_format<T>();
  int failed = 0, two_roundings = 0;
  double first = 0;
  const auto check = [&](double x) {
    for (const double v : {x, -x}) {
      const std::uint32_t wanted = oracle::encode(f, v, r, true),
                          other = oracle::encode(f, v, r, false);
      const bool bad = F::template encode<tq::Saturate>(v, r) != wanted ||
                       F::template encode<tq::NonSaturate>(v, r) != other;
      if (bad && ++failed == 1) first = v;
      two_roundings += F::template encode<tq::Saturate>(static_cast<float>(v), r) != wanted;
    }
  };
  const std::vector<double> marks = oracle::marks(f);
  for (std::size_t i = 0; i < marks.size(); i += marks.size() > 2000 ? 5 : 1) {
    check(marks[i]);
    check(std::nextafter(marks[i], 1e300));
    check(std::nextafter(marks[i], -1e300));
    const double step = std::ldexp(std::fabs(marks[i]), -26);  // below half an ulp of float
    check(marks[i] + step);
    check(marks[i] - step);
  }
  for (const double x :
       {0.0, 5e-324, 1e-310, 0x1p-150, 0x1.0000000000001p-150, 0x1p-149, 0x1.8p-149, 0x1p-133,
        0x1p-134, 0x1.0000000000001p-134, 3.4028235677973366e38, 1e39, 1.7e308,
        oracle::detail::infinity, oracle::detail::nan})
    check(x);
  inputs::Random random(2);
  for (int i = 0; i < 5000; ++i) check(std::bit_cast<double>(random.bits()));
  INFO(T::name << ' ' << R::name << std::hexfloat << ": the first of " << failed << " is "
               << first);
  CHECK(failed == 0);
  CHECK(two_roundings > 0);
}

template <class T>
void check_doubles() {
  check_double<T>(tq::NearestEven{});
  check_double<T>(tq::HalfAway{});
  check_double<T>(tq::HalfUp{});
  check_double<T>(tq::TowardZero{});
  check_double<T>(tq::Floor{});
}

}  // namespace

TEST_CASE("formats equal their definitions, rounding every way", "[float_format]") {
  SECTION("float16") { check_format<tq::float16>(); }
  SECTION("bfloat16") { check_format<tq::bfloat16>(); }
  SECTION("float8_e4m3fn") { check_format<tq::float8_e4m3fn>(); }
  SECTION("float8_e5m2") { check_format<tq::float8_e5m2>(); }
  SECTION("float8_e4m3fnuz") { check_format<tq::float8_e4m3fnuz>(); }
  SECTION("float8_e5m2fnuz") { check_format<tq::float8_e5m2fnuz>(); }
  SECTION("float6_e2m3fn") { check_format<tq::float6_e2m3fn>(); }
  SECTION("float6_e3m2fn") { check_format<tq::float6_e3m2fn>(); }
  SECTION("float4_e2m1fn") { check_format<tq::float4_e2m1fn>(); }
}

TEST_CASE("doubles are rounded once", "[float_format]") {
  check_doubles<tq::float16>();
  check_doubles<tq::bfloat16>();
  check_doubles<tq::float8_e4m3fn>();
  check_doubles<tq::float8_e5m2>();
  check_doubles<tq::float8_e4m3fnuz>();
  check_doubles<tq::float8_e5m2fnuz>();
  check_doubles<tq::float6_e2m3fn>();
  check_doubles<tq::float6_e3m2fn>();
  check_doubles<tq::float4_e2m1fn>();
}

TEST_CASE("overflow begins at the tie with the first value that is missing", "[float_format]") {
  using tq::NonSaturate;
  const auto next = [](float x) { return std::nextafter(x, inf); };
  const auto before = [](float x) { return std::nextafter(x, 0.0f); };
  CHECK(e4m3fn::encode<NonSaturate>(464.0f) == 0x7e);
  CHECK(e4m3fn::encode<NonSaturate>(next(464.0f)) == 0x7f);
  CHECK(e4m3fn::encode<NonSaturate>(-next(464.0f)) == 0xff);
  CHECK(e4m3fn::encode(next(464.0f)) == 0x7e);
  CHECK(e5m2::encode<NonSaturate>(before(61440.0f)) == 0x7b);
  CHECK(e5m2::encode<NonSaturate>(61440.0f) == 0x7c);
  CHECK(e5m2::encode<NonSaturate>(-61440.0f) == 0xfc);
  CHECK(e5m2::encode(61440.0f) == 0x7b);
  CHECK(e4m3fnuz::encode<NonSaturate>(before(248.0f)) == 0x7f);
  CHECK(e4m3fnuz::encode<NonSaturate>(248.0f) == 0x80);
  CHECK(e4m3fnuz::encode(248.0f) == 0x7f);
  CHECK(e5m2fnuz::encode<NonSaturate>(before(61440.0f)) == 0x7f);
  CHECK(e5m2fnuz::encode<NonSaturate>(61440.0f) == 0x80);
  CHECK(f16::encode<NonSaturate>(before(65520.0f)) == 0x7bff);
  CHECK(f16::encode<NonSaturate>(65520.0f) == 0x7c00);
  CHECK(f16::encode(65520.0f) == 0x7bff);
  CHECK(bf16::encode<NonSaturate>(biggest) == 0x7f80);
  CHECK(bf16::encode<NonSaturate>(before(0x1.ffp127f)) == 0x7f7f);
  CHECK(bf16::encode(biggest) == 0x7f7f);
  CHECK(e2m1::encode<NonSaturate>(1e9f) == 7);
  CHECK(e2m3::encode<NonSaturate>(-inf) == 0x3f);
  CHECK(e3m2::encode<NonSaturate>(inf) == 0x1f);
}

TEST_CASE("NaN, infinities and zeros", "[float_format]") {
  using tq::NonSaturate;
  CHECK(e4m3fn::encode(nan_value) == 0x7f);
  CHECK(e4m3fn::encode(-nan_value) == 0xff);
  CHECK(e5m2::encode(nan_value) == 0x7e);
  CHECK(e5m2::encode(inf) == 0x7b);
  CHECK(e5m2::encode<NonSaturate>(-inf) == 0xfc);
  CHECK(e4m3fn::encode<NonSaturate>(inf) == 0x7f);
  CHECK(e4m3fnuz::encode(-nan_value) == 0x80);
  CHECK(e4m3fnuz::encode<NonSaturate>(-inf) == 0x80);
  CHECK(e4m3fnuz::encode(-0.0f) == 0);
  CHECK(e4m3fnuz::encode(-0x1p-12f) == 0);
  CHECK(e4m3fn::encode(-0x1p-12f) == 0x80);
  CHECK(e4m3fn::encode(-0x1p-149f) == 0x80);
  CHECK(e4m3fn::encode(0x1p-10f) == 0);  // half the smallest goes to the even zero
  CHECK(e4m3fn::encode(std::nextafter(0x1p-10f, 1.0f)) == 1);
  CHECK(e2m1::encode(nan_value) == 8);  // a zero of the opposite sign
  CHECK(e2m1::encode(-nan_value) == 0);
  // A NaN that only has low bits is still one.
  CHECK(bf16::encode(std::bit_cast<float>(0x7f800001u)) == 0x7fc0);
  CHECK(f16::encode(std::bit_cast<float>(0xff800001u)) == 0xfe00);
}

TEST_CASE("stochastic rounding to floats has the value as its mean", "[float_format]") {
  constexpr int n = 1000000;
  const auto check = [&]<class F>(F, double x, double lo, double hi) {
    const tq::Stochastic r{99};
    double sum = 0;
    int outside = 0;
    for (int i = 0; i < n; ++i) {
      const auto v = static_cast<double>(
          F::decode(F::encode(static_cast<float>(x), r, static_cast<std::uint64_t>(i))));
      outside += v != lo && v != hi;
      sum += v;
    }
    const double p = (x - lo) / (hi - lo), error = (hi - lo) * std::sqrt(p * (1 - p) / n);
    INFO(x);
    CHECK(outside == 0);
    CHECK(std::fabs(sum / n - x) < 5 * error);
  };
  check(e4m3fn{}, 1.03125, 1.0, 1.125);
  check(e4m3fn{}, -300.0, -320.0, -288.0);
  check(e4m3fn{}, 0x1p-11, 0.0, 0x1p-9);
  check(e5m2{}, -0x1.cp-17, -0x1p-16, 0.0);
  check(e5m2{}, 57000.0, 49152.0, 57344.0);
  check(e2m1{}, 4.5, 4.0, 6.0);
  check(e3m2{}, 27.5, 24.0, 28.0);
  check(f16{}, 1.000244140625, 1.0, 1.0009765625);
  check(bf16{}, -1.00390625, -1.0078125, -1.0);
}

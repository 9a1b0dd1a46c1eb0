// SPDX-License-Identifier: MIT
#include <tq/core/float_elements.hpp>
#include <tq/numeric/exponent_format.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/format_oracle.hpp"

namespace {

constexpr float inf = std::numeric_limits<float>::infinity(),
                nan_value = std::numeric_limits<float>::quiet_NaN();
constexpr float biggest = std::numeric_limits<float>::max();
using F = tq::ExponentFormat;

struct without_name {
  template <class>
  static std::uint32_t code(float) noexcept;
};
struct to_int {
  static constexpr const char* name = "to_int";
  template <class>
  static int code(float) noexcept;
};
static_assert(tq::ExponentRule<tq::ExponentFloor> && tq::ExponentRule<tq::ExponentCeil> &&
              tq::ExponentRule<tq::ExponentEven> && tq::ExponentRule<tq::ExponentRCeil> &&
              tq::ExponentRule<tq::ExponentNearest>);
static_assert(!tq::ExponentRule<without_name> && !tq::ExponentRule<to_int> &&
              !tq::ExponentRule<int>);
static_assert(F::decode(127) == 1.0f && F::decode(0) == 0x1p-127f && F::decode(254) == 0x1p127f);
static_assert(F::encode(1.5f) == 128 && F::encode(0.0f) == 255 && F::encode(inf) == 254 &&
              F::encode<tq::NonSaturate>(inf) == 255);
static_assert(tq::ExponentFloor::code<tq::float4_e2m1fn::format>(6.0f) == 127);

// floor(log2 x), and the significand in [1, 2).
struct Parts {
  int power;
  double significand;
};
Parts parts(double x) {
  int e = 0;
  const double m = std::frexp(x, &e);
  return {e - 1, 2 * m};
}

// The exponent of a rule for a normal amax, before it is brought into the range of codes.
template <class T>
int wanted(tq::ExponentFloor, const oracle::Format&, double amax, int emax) {
  return parts(amax).power - emax;
}
template <class T>
int wanted(tq::ExponentCeil, const oracle::Format&, double amax, int emax) {
  return parts(amax).power + (parts(amax).significand > 1) - emax;
}
template <class T>
int wanted(tq::ExponentEven, const oracle::Format&, double amax, int emax) {
  const double steps = std::ldexp(1.0, T::format::mantissa_bits);
  return parts(amax).power + (std::floor(parts(amax).significand * steps + 0.5) >= 2 * steps) -
         emax;
}
template <class T>
int wanted(tq::ExponentNearest, const oracle::Format&, double amax, int emax) {
  return parts(amax).power + (parts(amax).significand >= 1.5) - emax;
}
template <class T>
int wanted(tq::ExponentRCeil, const oracle::Format& f, double amax, int) {
  double top = 0;
  for (const double v : f.values)
    if (std::isfinite(v)) top = std::max(top, v);
  const float inverse = static_cast<float>(1 / top);
  const auto d = static_cast<double>(static_cast<float>(amax * static_cast<double>(inverse)));
  return d == 0 ? -127 : parts(d).power + (parts(d).significand > 1);
}

template <class T, class Rule>
void check(Rule rule) {
  using Format = typename T::format;
  const oracle::Format f = oracle::format<T>();
  double top = 0;
  for (const double v : f.values)
    if (std::isfinite(v)) top = std::max(top, v);
  const int emax = parts(top).power;
  std::vector<float> amax{0.0f, biggest};
  for (int e = -149; e <= 127; ++e)
    for (const double s : {1.0, 1.25, 1.5, 1.75, 1.875, 1.9375, 1.96875, 1.9921875, 1.9999,
                           top / std::ldexp(1.0, emax)})
      for (int d = -1; d <= 1; ++d) {
        const float x = inputs::nudge(static_cast<float>(std::ldexp(s, e)), d);
        if (std::isfinite(x)) amax.push_back(x);
      }
  inputs::Random r(1);
  for (int i = 0; i < 5000; ++i) {
    const float x = std::fabs(inputs::any_bits(r));
    if (std::isfinite(x)) amax.push_back(x);
  }
  std::sort(amax.begin(), amax.end());
  int failed = 0, out_of_bounds = 0;
  std::uint32_t last = 0;
  for (const float x : amax) {
    const std::uint32_t code = Rule::template code<Format>(x);
    failed += code < last || code > 254;  // monotonic
    last = code;
    if (x >= 0x1p-126f) {
      const int expected = wanted<T>(rule, f, static_cast<double>(x), emax);
      failed += static_cast<int>(code) - 127 != std::clamp(expected, -127, 127);
    }
    // The rules know subnormal magnitudes only as below 2^-126.
    if (code == 0 || code == 254 || x < 0x1p-126f) continue;
    // The largest magnitude, scaled, in units of the format's largest power of two.
    const double scaled = static_cast<double>(x) / F::decode(code) / std::ldexp(1.0, emax);
    if constexpr (std::same_as<Rule, tq::ExponentFloor>)
      out_of_bounds += !(scaled >= 1 && scaled < 2);
    if constexpr (std::same_as<Rule, tq::ExponentCeil>)
      out_of_bounds += !(scaled > 0.5 && scaled <= 1);
    if constexpr (std::same_as<Rule, tq::ExponentNearest>)
      out_of_bounds += !(scaled >= 0.75 && scaled < 1.5);
    if constexpr (std::same_as<Rule, tq::ExponentRCeil>)  // no further above the largest value than
                                                          // float32 is exact
      out_of_bounds += static_cast<double>(x) / F::decode(code) > top * (1 + 0x1p-22);
  }
  INFO(T::name << ' ' << Rule::name);
  CHECK(failed == 0);
  CHECK(out_of_bounds == 0);
  CHECK(Rule::template code<Format>(0.0f) == 0);
  CHECK(Rule::template code<Format>(inf) == 255);
  CHECK(Rule::template code<Format>(nan_value) == 255);
}

template <class T>
void check_rules() {
  check<T>(tq::ExponentFloor{});
  check<T>(tq::ExponentCeil{});
  check<T>(tq::ExponentEven{});
  check<T>(tq::ExponentRCeil{});
  check<T>(tq::ExponentNearest{});
}

}  // namespace

TEST_CASE("every power of two has its code, and every value the nearest", "[exponent_format]") {
  const oracle::Format f = oracle::format<tq::float8_e8m0fnu>();
  int failed = 0;
  for (std::uint32_t c = 0; c < 256; ++c) {
    failed += !oracle::same(F::decode(c), static_cast<float>(f.value(c)));
    failed += !oracle::same(F::decode(c + 256), F::decode(c));
    failed += F::encode(F::decode(c)) != c;
  }
  const std::vector<double> marks = oracle::marks(f);
  const auto check_value = [&](float x) {
    failed += F::encode(x) != oracle::encode(f, static_cast<double>(x), tq::NearestEven{}, true);
    failed += F::encode<tq::NonSaturate>(x) !=
              oracle::encode(f, static_cast<double>(x), tq::NearestEven{}, false);
  };
  for (const double m : marks)
    for (int d = -2; d <= 2; ++d) check_value(inputs::nudge(static_cast<float>(m), d));
  for (const oracle::Format* half :
       {&oracle::cached_format<tq::float16>(), &oracle::cached_format<tq::bfloat16>()})
    for (const double v : half->values) check_value(static_cast<float>(v));
  inputs::Random r(3);
  for (int i = 0; i < 20000; ++i) check_value(inputs::any_bits(r));
  for (const float x : {0.0f, -0.0f, -1.0f, inf, -inf, nan_value, biggest, 0x1.7ffffep127f,
                        0x1.8p127f, 1e-45f, 0x1.8p-127f, 0x1.7ffff8p-127f})
    check_value(x);
  CHECK(failed == 0);
}

TEST_CASE("exponent rules equal their formulas, rise with amax and keep their bounds",
          "[exponent_format]") {
  check_rules<tq::float4_e2m1fn>();
  check_rules<tq::float6_e2m3fn>();
  check_rules<tq::float6_e3m2fn>();
  check_rules<tq::float8_e4m3fn>();
  check_rules<tq::float8_e5m2>();
  check_rules<tq::fixed8>();
}

TEST_CASE("exponent rules worked out by hand", "[exponent_format]") {
  using fp4 = tq::float4_e2m1fn::format;
  using fp8 = tq::float8_e4m3fn::format;
  CHECK(tq::ExponentFloor::code<fp4>(7.9f) == 127);
  CHECK(tq::ExponentFloor::code<fp4>(8.0f) == 128);
  CHECK(tq::ExponentCeil::code<fp4>(4.0f) == 127);
  CHECK(tq::ExponentCeil::code<fp4>(4.01f) == 128);
  CHECK(tq::ExponentEven::code<fp4>(6.9f) == 127);
  CHECK(tq::ExponentEven::code<fp4>(7.0f) == 128);
  CHECK(tq::ExponentRCeil::code<fp4>(6.0f) == 127);
  CHECK(tq::ExponentRCeil::code<fp4>(6.01f) == 128);
  CHECK(tq::ExponentNearest::code<fp8>(256.0f * 1.5f) == 128);
  CHECK(tq::ExponentFloor::code<fp8>(0x1p-118f) == 1);
  CHECK(tq::ExponentFloor::code<fp8>(0x1p-119f) == 0);
  CHECK(tq::ExponentFloor::code<fp8>(1e-45f) == 0);
  // Subnormal quotients: 2^-127 has a code of its own.
  CHECK(tq::ExponentRCeil::code<tq::float8_e5m2::format>(0x1.cp-112f) == 0);
  CHECK(tq::ExponentRCeil::code<tq::float8_e5m2::format>(0x1.c1p-112f) == 1);
}

TEST_CASE(
    "rules without saturation give NaN for what they round beyond the last code, and no other",
    "[exponent_format]") {
  const auto check = [](auto rule, float first_beyond) {
    using E = decltype(rule);
    using Without = tq::ExponentUnsaturated<E>;
    static_assert(tq::ExponentRule<Without>);
    for (std::uint32_t bits = 0; bits < 0x80000000u; bits += 0x1fff) {  // every exponent, odd steps
      const float x = std::bit_cast<float>(bits);
      const std::uint32_t with = E::template code<tq::fixed8::format>(x);
      REQUIRE(Without::template code<tq::fixed8::format>(x) == (x >= first_beyond ? 255u : with));
    }
    for (const float x : {first_beyond, std::nextafter(first_beyond, 0.0f), -first_beyond, 0x1p127f,
                          biggest, inf, nan_value}) {
      const bool is_beyond = !(std::fabs(x) < first_beyond);
      REQUIRE(Without::template code<tq::fixed8::format>(x) ==
              (is_beyond ? 255u : E::template code<tq::fixed8::format>(x)));
    }
  };
  check(tq::ExponentFloor{}, inf);
  check(tq::ExponentCeil{}, std::nextafter(0x1p127f, inf));
  check(tq::ExponentNearest{}, 0x1.8p127f);
}

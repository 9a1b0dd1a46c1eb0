// SPDX-License-Identifier: MIT
#include <tq/core/codebook.hpp>
#include <tq/numeric/codebook_format.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "support/catch.hpp"
#include "support/format_oracle.hpp"

namespace {

constexpr float inf = std::numeric_limits<float>::infinity(),
                nan_value = std::numeric_limits<float>::quiet_NaN();

// Numbers without order that are multiples of 2^-16, some of them equal.
template <std::size_t N, std::uint32_t Seed>
struct scattered {
  static constexpr std::string_view name = "scattered";
  static constexpr std::array<float, N> values = [] {
    std::array<float, N> v{};
    std::uint32_t h = Seed;
    for (float& x : v) {
      h = h * 1664525u + 1013904223u;
      x = static_cast<float>(static_cast<std::int32_t>(h) >> 12) * 0x1p-16f;
    }
    if (N > 50) v[N - 1] = v[3];
    return v;
  }();
};
struct repeated {
  static constexpr std::string_view name = "repeated";
  static constexpr std::array<float, 6> values{2.0f, -1.0f, 2.0f, -1.0f, 0.5f, 2.0f};
};
struct apart {  // the mean of the two is just below 0.5, closer than a double can say
  static constexpr std::string_view name = "apart";
  static constexpr std::array<float, 2> values{1.0f, -1e-30f};
};
struct apart_above {
  static constexpr std::string_view name = "apart_above";
  static constexpr std::array<float, 2> values{1.0f, 1e-30f};
};
struct own_thresholds {
  static constexpr std::string_view name = "own_thresholds";
  static constexpr std::array<float, 3> values{-1.0f, 0.0f, 1.0f};
  static constexpr std::array<float, 2> thresholds{-0.75f, 0.75f};
};
struct one_value {
  static constexpr std::string_view name = "one_value";
  static constexpr std::array<float, 1> values{1.0f};
};
struct too_many {
  static constexpr std::string_view name = "too_many";
  static constexpr std::array<float, 257> values{};
};
struct without_name {
  static constexpr std::array<float, 2> values{1.0f, 2.0f};
};

static_assert(tq::CodebookTable<repeated> && tq::CodebookTable<own_thresholds>);
static_assert(!tq::CodebookTable<one_value> && !tq::CodebookTable<too_many> &&
              !tq::CodebookTable<without_name> && without_name::values.size() == 2);
static_assert(tq::nf4::format::bits == 4 && tq::dynamic8::format::bits == 8 &&
              tq::binary::format::bits == 1);
static_assert(tq::CodebookFormat<scattered<3, 1>>::bits == 2 &&
              tq::CodebookFormat<scattered<5, 1>>::bits == 3 &&
              tq::CodebookFormat<scattered<100, 1>>::bits == 7);
static_assert(tq::nf4::format::encode(0.0f) == 7 && tq::nf4::format::encode(1.0f) == 15 &&
              tq::nf4::format::decode(0) == -1.0f);

template <class T>
void check(std::uint64_t seed) {
  using F = typename T::format;
  const oracle::Format f = oracle::format<T>();
  int failed = 0;
  for (std::uint32_t c = 0; c < f.values.size(); ++c) {
    const float v = F::decode(c);
    failed += !oracle::same(v, static_cast<float>(f.value(c)));
    failed += !oracle::same(F::decode(c + (5u << F::bits)), v);
    if (c >= F::size) continue;
    const auto first = static_cast<std::uint32_t>(std::find(F::values.begin(), F::values.end(), v) -
                                                  F::values.begin());
    failed += F::encode(v) != first;  // of equal values the first
  }
  const auto one = [&](float x) {
    const std::uint32_t wanted = oracle::encode(f, static_cast<double>(x), tq::NearestEven{}, true);
    failed += F::encode(x) != wanted;
    failed += F::encode(static_cast<double>(x)) != wanted;
    failed += F::template encode<tq::NonSaturate>(x, tq::NearestEven{}, 0) != wanted;
  };
  inputs::Random r(seed);
  const std::vector<double> marks = oracle::marks(f);
  for (const double m : marks) {
    for (int d = -2; d <= 2; ++d) one(inputs::nudge(static_cast<float>(m), d));
    // Between two floats a double still knows its side.
    for (const double x : {m, std::nextafter(m, 1e300), std::nextafter(m, -1e300)})
      failed += F::encode(x) != oracle::encode(f, x, tq::NearestEven{}, true);
  }
  for (int i = 0; i < 20000; ++i) one(oracle::value_near(marks, 1.0f, r));
  for (const float x : {inf, -inf, nan_value, 0.0f, -0.0f, 3e38f, -3e38f}) one(x);
  INFO(T::name << ", " << F::size << " values");
  CHECK(failed == 0);
  float top = 0;
  for (const float v : F::values) top = std::max(top, std::fabs(v));
  CHECK(F::max_finite == top);
}

}  // namespace

TEST_CASE("code books choose the nearest value, the lower one at a tie", "[codebook_format]") {
  check<tq::nf4>(1);
  check<tq::bnb_fp4>(2);
  check<tq::iq4_nl>(3);
  check<tq::dynamic8>(4);
}

TEST_CASE("tables of a user, of any size and order", "[codebook_format]") {
  check<tq::Codebook<scattered<2, 5>>>(5);
  check<tq::Codebook<scattered<3, 6>>>(6);
  check<tq::Codebook<scattered<5, 7>>>(7);
  check<tq::Codebook<scattered<16, 8>>>(8);
  check<tq::Codebook<scattered<17, 9>>>(9);
  check<tq::Codebook<scattered<100, 10>>>(10);
  check<tq::Codebook<scattered<256, 11>>>(11);
  check<tq::Codebook<repeated>>(12);
  CHECK(tq::CodebookFormat<repeated>::encode(inf) == 0);
  CHECK(tq::CodebookFormat<repeated>::encode(1e300) == 0);
  CHECK(tq::CodebookFormat<repeated>::encode(-inf) == 1);
}

TEST_CASE("means that no double holds", "[codebook_format]") {
  using F = tq::CodebookFormat<apart>;
  CHECK(F::encode(0.5f) == 0);  // 1 is nearer, by 1e-30
  CHECK(F::encode(std::nextafter(0.5f, 0.0f)) == 1);
  CHECK(F::encode(0.5) == 0);
  CHECK(F::encode(std::nextafter(0.5, 0.0)) == 1);
  using G = tq::CodebookFormat<apart_above>;
  CHECK(G::encode(0.5f) == 1);
  CHECK(G::encode(std::nextafter(0.5, 1.0)) == 0);
}

TEST_CASE("a table may have thresholds of its own", "[codebook_format]") {
  using F = tq::CodebookFormat<own_thresholds>;
  CHECK(F::encode(0.75f) == 1);
  CHECK(F::encode(std::nextafter(0.75f, 1.0f)) == 2);
  CHECK(F::encode(-0.75f) == 0);
  CHECK(F::encode(std::nextafter(-0.75f, 0.0f)) == 1);
  CHECK(F::encode(std::nextafter(0.75, 1.0)) == 2);
}

TEST_CASE("binary is the sign, and zero is positive", "[codebook_format]") {
  using F = tq::binary::format;
  for (const float x : {0.0f, -0.0f, 1e-45f, 1.0f, inf, nan_value})
    CHECK(F::decode(F::encode(x)) == 1.0f);
  for (const float x : {-1e-45f, -1.0f, -inf}) CHECK(F::decode(F::encode(x)) == -1.0f);
}

// SPDX-License-Identifier: MIT
#include <tq/numeric/rounding.hpp>

#include <cmath>
#include <cstdint>

#include "support/catch.hpp"
#include "support/inputs.hpp"
#include "support/oracle.hpp"

namespace {

struct ReturnsDouble {
  static constexpr std::string_view name = "returns_double";
  double operator()(float v, std::uint64_t) const noexcept { return v; }
};
struct MayThrow {
  static constexpr std::string_view name = "may_throw";
  float operator()(float v, std::uint64_t) const { return v; }
};
static_assert(tq::Rounding<tq::NearestEven> && tq::Rounding<tq::HalfAway> &&
              tq::Rounding<tq::HalfUp> && tq::Rounding<tq::TowardZero> && tq::Rounding<tq::Floor> &&
              tq::Rounding<tq::Stochastic>);
static_assert(!tq::Rounding<ReturnsDouble> && !tq::Rounding<MayThrow> && !tq::Rounding<int>);

// The same in constant expressions, which take other instructions.
static_assert(tq::NearestEven{}(2.5f, 0) == 2 && tq::NearestEven{}(-3.5f, 0) == -4 &&
              tq::NearestEven{}(-0.75f, 0) == -1 && tq::NearestEven{}(8388609.0f, 0) == 8388609 &&
              tq::NearestEven{}(-1e30f, 0) == -1e30f);
static_assert(tq::HalfAway{}(2.5f, 0) == 3 && tq::HalfAway{}(-2.5f, 0) == -3 &&
              tq::HalfAway{}(0.49999997f, 0) == 0);
static_assert(tq::HalfUp{}(-2.5f, 0) == -2 && tq::HalfUp{}(0.49999997f, 0) == 0 &&
              tq::HalfUp{}(2.5f, 0) == 3);
static_assert(tq::TowardZero{}(-2.9f, 0) == -2 && tq::Floor{}(-2.1f, 0) == -3 &&
              tq::Floor{}(-2.0f, 0) == -2);
static_assert(tq::Stochastic{1}(3.0f, 5) == 3);
template <class R>
constexpr int constant_sum(const R& round) {  // of v - round(v) in eighths, over a grid of eighths
  int sum = 0;
  for (int i = -40; i <= 40; ++i)
    sum += i * (i - 8 * static_cast<int>(
                            round(static_cast<float>(i) / 8, static_cast<std::uint64_t>(i + 40))));
  return sum;
}
template <class R, R Round, int Constant = constant_sum(Round)>
void check_constant() {
  INFO(R::name);
  CHECK(constant_sum(Round) == Constant);
}

template <class R>
void check(const R& round, std::uint64_t seed) {
  inputs::Random r(seed);
  int failed = 0;
  for (int i = 0; i < 20000; ++i) {
    float v = static_cast<float>(r.normal() * 100);
    if (r.chance(40))
      v = inputs::nudge(static_cast<float>(r.between(-70000, 70000)) + 0.5f, r.between(-2, 2));
    if (r.chance(10))
      v = inputs::nudge(static_cast<float>(r.between(-5, 5)) + 0.5f, r.between(-2, 2));
    if (r.chance(10)) v = static_cast<float>(r.between(-70000, 70000));
    if (r.chance(5)) v = std::ldexp(r.chance(50) ? 1.0f : -1.0f, r.between(-149, -1));
    const std::uint64_t index = r.bits();
    failed +=
        static_cast<double>(round(v, index)) != oracle::round(round, static_cast<double>(v), index);
  }
  INFO(R::name);
  CHECK(failed == 0);
}

}  // namespace

TEST_CASE("roundings equal their definitions", "[rounding]") {
  check(tq::NearestEven{}, 1);
  check(tq::HalfAway{}, 2);
  check(tq::HalfUp{}, 3);
  check(tq::TowardZero{}, 4);
  check(tq::Floor{}, 5);
  check(tq::Stochastic{123}, 6);
}

TEST_CASE("roundings are the same in constant expressions", "[rounding]") {
  check_constant<tq::NearestEven, tq::NearestEven{}>();
  check_constant<tq::HalfAway, tq::HalfAway{}>();
  check_constant<tq::HalfUp, tq::HalfUp{}>();
  check_constant<tq::TowardZero, tq::TowardZero{}>();
  check_constant<tq::Floor, tq::Floor{}>();
  check_constant<tq::Stochastic, tq::Stochastic{77}>();
}

TEST_CASE("roundings at ties and next to them", "[rounding]") {
  CHECK(tq::NearestEven{}(0.5f, 0) == 0);
  CHECK(tq::NearestEven{}(1.5f, 0) == 2);
  CHECK(tq::NearestEven{}(-2.5f, 0) == -2);
  CHECK(tq::HalfAway{}(0.5f, 0) == 1);
  CHECK(tq::HalfAway{}(-2.5f, 0) == -3);
  CHECK(tq::HalfUp{}(-2.5f, 0) == -2);
  CHECK(tq::HalfUp{}(2.5f, 0) == 3);
  // floor(v + 0.5f) would say 1 here, and lose the last bit there.
  CHECK(tq::HalfUp{}(0.49999997f, 0) == 0);
  CHECK(tq::HalfUp{}(8388609.0f, 0) == 8388609.0f);
  CHECK(tq::HalfAway{}(0.49999997f, 0) == 0);
  CHECK(tq::TowardZero{}(-2.9f, 0) == -2);
  CHECK(tq::Floor{}(-2.1f, 0) == -3);
}

TEST_CASE("stochastic rounding keeps integers and draws from seed and index alone", "[rounding]") {
  const tq::Stochastic a{1}, b{2};
  int differ = 0;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    CHECK((a(3.0f, i) == 3.0f && a(-4.0f, i) == -4.0f && a(0.0f, i) == 0.0f));
    CHECK(a(2.25f, i) == a(2.25f, i));
    differ += a(0.5f, i) != b(0.5f, i);
  }
  CHECK(differ > 800);
  CHECK(differ < 1200);
}

TEST_CASE("the expected value of stochastic rounding is the value", "[rounding]") {
  constexpr int n = 1000000;
  for (const float v : {0.5f, 0.25f, 0.001f, 0.999f, -0.3f, -7.75f, 100.1f}) {
    for (const std::uint64_t first : {std::uint64_t{0}, (std::uint64_t{1} << 32) - n / 2}) {
      const tq::Stochastic round{0x123456789u};
      double sum = 0;
      for (int i = 0; i < n; ++i)
        sum += static_cast<double>(round(v, first + static_cast<std::uint64_t>(i)));
      const double p = static_cast<double>(v) - std::floor(static_cast<double>(v));
      const double error = std::sqrt(p * (1 - p) / n);
      INFO(v);
      CHECK(std::fabs(sum / n - static_cast<double>(v)) < 5 * error);
    }
  }
}

TEST_CASE("neighbouring draws are not correlated", "[rounding]") {
  constexpr int n = 1000000;
  for (const std::uint64_t lag : {1u, 2u, 4u, 16u, 64u}) {
    double sum = 0;
    for (std::uint64_t i = 0; i < n; ++i)
      sum += (static_cast<double>(tq::detail::uniform(9, i)) - 0.5) *
             (static_cast<double>(tq::detail::uniform(9, i + lag)) - 0.5);
    CHECK(std::fabs(sum / n) < 5.0 / 12 / std::sqrt(double{n}));
  }
}

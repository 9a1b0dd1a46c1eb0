// SPDX-License-Identifier: MIT
#include <tq/numeric/numerics.hpp>

#include <cmath>
#include <concepts>
#include <limits>
#include <string>

#include "support/catch.hpp"
#include "support/error_check.hpp"

namespace {

struct Half {  // a scaling of the user's own
  static constexpr std::string_view name = "half";
  static float apply(float x, float) noexcept { return x / 2; }
};
struct HalfMayThrow {
  static constexpr std::string_view name = "half_may_throw";
  static float apply(float x, float) { return x / 2; }
};
static_assert(tq::Scaling<tq::Divide> && tq::Scaling<tq::Reciprocal> && tq::Scaling<Half>);
static_assert(!tq::Scaling<HalfMayThrow> && !tq::Scaling<int>);
static_assert(tq::NanPolicy<tq::NanToZero> && tq::NanPolicy<tq::NanToMin> &&
              tq::NanPolicy<tq::RaiseNan>);
static_assert(!tq::NanPolicy<tq::Divide>);
static_assert(tq::DegeneratePolicy<tq::ScaleOne> && tq::DegeneratePolicy<tq::ScaleEpsilon> &&
              tq::DegeneratePolicy<tq::ScaleTenth> && tq::DegeneratePolicy<tq::ScaleRaises>);
static_assert(tq::Scaling<tq::DivideIn<tq::ExponentFormat>> && tq::DegeneratePolicy<tq::ScaleZero>);
static_assert(!tq::DegeneratePolicy<tq::Divide>);
static_assert(tq::NumericsPolicy<tq::Numerics<>> && tq::NumericsPolicy<tq::numerics::torch>);
static_assert(!tq::NumericsPolicy<tq::NearestEven> && !tq::NumericsPolicy<const tq::Numerics<>>);
static_assert(std::same_as<tq::numerics::onnx,
                           tq::Numerics<tq::NearestEven, tq::Divide, tq::NanToZero, tq::ScaleOne>>);
static_assert(tq::Scaling<tq::PowerOfTwo>);
static_assert(std::same_as<tq::Numerics<>::overflow_type, tq::Saturate> &&
              std::same_as<tq::Numerics<>::exponent_rule, tq::ExponentFloor>);
static_assert(std::same_as<tq::numerics::torch::overflow_type, tq::SaturateFn> &&
              std::same_as<tq::numerics::torch_2_11::overflow_type, tq::NonSaturate>);
static_assert(std::same_as<tq::numerics::onnx::range_arithmetic, tq::RangeInFloat> &&
              std::same_as<tq::numerics::torch::range_arithmetic, tq::RangeInFloatRoundFirst> &&
              std::same_as<tq::numerics::exact::range_arithmetic, tq::RangeInDouble>);
static_assert(std::same_as<tq::numerics::ocp::overflow_type, tq::Saturate> &&
              std::same_as<tq::numerics::ocp::exponent_rule, tq::ExponentFloor> &&
              std::same_as<tq::numerics::ocp::rounding_type, tq::NearestEven>);
static_assert(std::same_as<tq::numerics::bitsandbytes::scaling_type, tq::Reciprocal>);

}  // namespace

TEST_CASE("dividing by a power of two is multiplying", "[numerics]") {
  for (int e = -127; e <= 127; ++e) {
    const float s = std::ldexp(1.0f, e);
    for (const float x :
         {1.0f, -3.14159f, 1e-45f, 0x1.fffffep127f, 0x1.234568p-126f, 0.0f, 1e-30f}) {
      INFO(x << " / 2^" << e);
      CHECK(tq::PowerOfTwo::apply(x, s) == tq::Divide::apply(x, s));
    }
  }
}

TEST_CASE("division and multiplication by the reciprocal differ in the last bit", "[numerics]") {
  CHECK(tq::Divide::apply(1.0f, 3.0f) == 1.0f / 3.0f);
  int differ = 0;
  for (int i = 1; i < 1000; ++i) {
    const auto x = static_cast<float>(i);
    differ += tq::Divide::apply(x, 3.0f) != tq::Reciprocal::apply(x, 3.0f);
    CHECK(tq::Reciprocal::apply(x, 0.25f) == x * 4);
  }
  CHECK(differ > 0);
}

TEST_CASE("degenerate policies", "[numerics]") {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN(),
                  inf = std::numeric_limits<float>::infinity();
  for (const float bad : {0.0f, -1.0f, nan, 1e-45f, 0x1p-129f}) {
    CHECK(tq::ScaleOne::apply(bad) == 1.0f);
    CHECK(tq::ScaleTenth::apply(bad) == 0.1f);
    CHECK(tq::ScaleZero::apply(bad) == 0.0f);
    test::raises(tq::errc::bad_scale, {"tq::ScaleRaises", "got scale"},
                 [&] { (void)tq::ScaleRaises::apply(bad); });
  }
  for (const float good : {1.0f, 0x1p-127f, 0x1p-126f, 1e38f, std::numeric_limits<float>::max()}) {
    INFO(good);
    CHECK(tq::ScaleOne::apply(good) == good);
    CHECK(tq::ScaleTenth::apply(good) == good);
    CHECK(tq::ScaleRaises::apply(good) == good);
  }
  constexpr float most = std::numeric_limits<float>::max();  // too large is not too small
  CHECK(tq::ScaleOne::apply(inf) == most);
  CHECK(tq::ScaleTenth::apply(inf) == most);
  CHECK(tq::ScaleZero::apply(inf) == most);
  CHECK(tq::ScaleEpsilon::apply(inf) == most);
  test::raises(tq::errc::bad_scale, {"tq::ScaleRaises", "got scale inf"},
               [&] { (void)tq::ScaleRaises::apply(inf); });
  CHECK(tq::ScaleEpsilon::apply(0.0f) == 0x1p-23f);
  CHECK(tq::ScaleEpsilon::apply(nan) == 0x1p-23f);
  CHECK(tq::ScaleEpsilon::apply(1e-3f) == 1e-3f);
}

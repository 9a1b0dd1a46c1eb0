// SPDX-License-Identifier: MIT
#include <tq/core/scales.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/format_oracle.hpp"

namespace {

constexpr float inf = std::numeric_limits<float>::infinity(),
                nan_value = std::numeric_limits<float>::quiet_NaN();
constexpr float biggest = std::numeric_limits<float>::max();

static_assert(tq::ScaleType<float> && tq::ScaleType<tq::float16> &&
              tq::ScaleType<tq::float8_e8m0fnu> && tq::ScaleType<tq::DoubleQuantized> &&
              tq::ScaleType<tq::TwoLevel<tq::float8_e4m3fn>> &&
              tq::ScaleType<tq::TwoLevel<tq::float8_e4m3fn, tq::BlockScales::normal>>);
static_assert(!tq::ScaleType<double> && !tq::ScaleType<int> && !tq::ScaleType<tq::int8>);

// Rounds a real number to float: every oracle below is a formula in double with these in the
// documented places.
float f(double v) { return static_cast<float>(v); }
double d(float v) { return static_cast<double>(v); }

// The scale of a symmetric range in float32, one where it is 0.
template <class T>
float exact(tq::Range r) {
  double top = std::max(-d(r.min), d(r.max)), most = 0;
  if constexpr (tq::IntegerElement<T>) most = T::qmax;
  else most = d(T::format::max_finite);
  const float s = f(top / most);
  return s > 0 ? s : 1.0f;
}

std::vector<tq::Range> random_ranges(std::size_t n, inputs::Random& r) {
  std::vector<tq::Range> out;
  for (std::size_t i = 0; i < n; ++i) {
    const auto size =
        f(std::ldexp(1 + r.unit(), r.chance(70) ? r.between(-12, 4) : r.between(-148, 125)));
    switch (r.below(8)) {
      case 0: out.push_back({0, 0}); break;
      case 1: out.push_back({-size, 0}); break;
      case 2: out.push_back({-size, size / 2}); break;
      default: out.push_back({-size / 4, size}); break;
    }
  }
  return out;
}

template <class E>
void check_nearest() {
  const oracle::Format format = oracle::format<E>();
  std::vector<float> x{1e-45f, 1e-30f, biggest, 1.0f, 0x1p-127f, 0x1p-126f, 1e-10f};
  inputs::Random r(1);
  for (int i = 0; i < 3000; ++i) x.push_back(inputs::scale(r));
  for (const double m : oracle::marks(format))
    for (int k = -1; k <= 1; ++k)
      if (m > 0 && m < 3e38) x.push_back(inputs::nudge(f(m), k));
  const auto s = tq::Scales<E>::nearest(x);
  REQUIRE(s.values().size() == x.size());
  int failed = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::uint32_t code = oracle::encode(format, d(x[i]), tq::NearestEven{}, true);
    if (format.value(code) == 0) code = 1;  // a positive scale never becomes zero
    failed += s.stored()[i] != code;
    failed += !oracle::same(s.values()[i], f(format.value(code)));
    failed += !(s.values()[i] > 0) || !std::isfinite(s.values()[i]);
  }
  INFO(E::name);
  CHECK(failed == 0);
  CHECK(s ==
        tq::Scales<E>(std::vector<typename E::code_type>(s.stored().begin(), s.stored().end())));
  CHECK_FALSE(s == tq::Scales<E>::nearest(std::vector<float>{1.0f}));
}

template <class T, class E>
void check_fit() {
  inputs::Random r(2);
  const std::vector<tq::Range> ranges = random_ranges(500, r);
  const auto s = tq::Scales<E>::template fit<T, tq::Symmetric, tq::Numerics<>>(ranges);
  const oracle::Format format = oracle::format<E>();
  int failed = 0;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    std::uint32_t code = oracle::encode(format, d(exact<T>(ranges[i])), tq::NearestEven{}, true);
    if (format.value(code) == 0) code = 1;
    failed += s.stored()[i] != code;
  }
  INFO(T::name << " scaled by " << E::name);
  CHECK(failed == 0);
}

// floor(log2 amax) - emax, of integers that of their largest code.
template <class T>
void check_powers(int emax) {
  inputs::Random r(3);
  std::vector<tq::Range> ranges = random_ranges(500, r);
  const auto s = tq::Scales<tq::float8_e8m0fnu>::fit<T, tq::Symmetric, tq::numerics::ocp>(ranges);
  int failed = 0;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const float top = std::max(-ranges[i].min, ranges[i].max);
    const int power = top == 0 ? -127 : std::clamp(std::ilogb(d(top)) - emax, -127, 127);
    failed += s.values()[i] != std::ldexp(1.0f, power);
    failed += s.stored()[i] != power + 127;
  }
  INFO(T::name);
  CHECK(failed == 0);
}

template <tq::BlockScales Least>
void check_two_levels(double least) {
  using S = tq::Scales<tq::TwoLevel<tq::float8_e4m3fn, Least>>;
  const oracle::Format& e4m3 = oracle::cached_format<tq::float8_e4m3fn>();
  inputs::Random r(4);
  for (int round = 0; round < 40; ++round) {
    std::vector<tq::Range> ranges = random_ranges(round == 0 ? 0 : 60, r);
    if (round == 1) std::fill(ranges.begin(), ranges.end(), tq::Range{0, 0});
    if (round > 20)  // nothing but ordinary blocks
      for (tq::Range& x : ranges) x = {-1, f(std::ldexp(1 + r.unit(), r.between(-9, 3)))};
    float most = 0;
    for (const tq::Range& x : ranges) most = std::max({most, -x.min, x.max});
    const float fitted = f(d(most) / 2688.0);
    const float tensor = fitted > 0 ? fitted : 1.0f;
    const auto check = [&](const S& s, float scale) {
      int failed = 0;
      CHECK(s.tensor_scale() == scale);
      REQUIRE(s.values().size() == ranges.size());
      for (std::size_t i = 0; i < ranges.size(); ++i) {
        const float top = std::fabs(std::max(-ranges[i].min, ranges[i].max));  // never -0
        const float block = f(d(f(d(top) / 6.0)) / d(scale));
        const std::uint32_t code = oracle::encode(e4m3, std::min(std::max(d(block), least), 448.0),
                                                  tq::NearestEven{}, true);
        failed += s.stored()[i] != code;
        failed += s.values()[i] != f(d(scale) * e4m3.value(code));
      }
      CHECK(failed == 0);
    };
    check(S::template fit<tq::float4_e2m1fn, tq::Symmetric, tq::Numerics<>>(ranges), tensor);
    check(S::template under<tq::float4_e2m1fn, tq::Symmetric>(1.0f, ranges), 1.0f);  // one level
    check(S::template under<tq::float4_e2m1fn, tq::Symmetric>(0.01f, ranges), 0.01f);
  }
}

}  // namespace

TEST_CASE("stored scales are the nearest that are not zero", "[scales]") {
  check_nearest<tq::float16>();
  check_nearest<tq::bfloat16>();
  check_nearest<tq::float8_e4m3fn>();
  check_nearest<tq::float8_e8m0fnu>();
}

TEST_CASE("scales fit ranges by the symmetry and are rounded to be stored", "[scales]") {
  check_fit<tq::int8, tq::float16>();
  check_fit<tq::int4, tq::bfloat16>();
  check_fit<tq::float4_e2m1fn, tq::float8_e4m3fn>();
  check_fit<tq::nf4, tq::float16>();
}

TEST_CASE("scales that are powers of two follow the exponent rule", "[scales]") {
  check_powers<tq::float4_e2m1fn>(2);
  check_powers<tq::float8_e4m3fn>(8);
  check_powers<tq::float8_e5m2>(15);
  check_powers<tq::float6_e2m3fn>(2);
  check_powers<tq::float6_e3m2fn>(4);
  check_powers<tq::fixed8>(0);
  check_powers<tq::int8>(6);
  check_powers<tq::int4>(2);
  using Ceil = tq::Numerics<tq::NearestEven, tq::Divide, tq::NanToZero, tq::ScaleOne, tq::Saturate,
                            tq::ExponentCeil>;
  const std::vector<tq::Range> five{{-5, 1}};
  const auto s = tq::Scales<tq::float8_e8m0fnu>::fit<tq::float4_e2m1fn, tq::Symmetric, Ceil>(five);
  CHECK(s.values()[0] == 2.0f);
  const std::vector<tq::Range> infinite{{-inf, 1}};
  const auto none =
      tq::Scales<tq::float8_e8m0fnu>::fit<tq::float4_e2m1fn, tq::Symmetric, Ceil>(infinite);
  CHECK(none.stored()[0] == 255);
  CHECK(std::isnan(none.values()[0]));
}

TEST_CASE("two levels: block scales under a tensor scale", "[scales]") {
  check_two_levels<tq::BlockScales::any>(0);
  check_two_levels<tq::BlockScales::normal>(0x1p-6);
}

TEST_CASE("two levels worked out by hand", "[scales]") {
  using Any = tq::Scales<tq::TwoLevel<tq::float8_e4m3fn>>;
  using Normal = tq::Scales<tq::TwoLevel<tq::float8_e4m3fn, tq::BlockScales::normal>>;
  const std::vector<tq::Range> ranges{{-2688.0f * 4, 0}, {0, 6.0f * 4}, {0, 0}, {0, 1e-9f}};
  const auto any = Any::fit<tq::float4_e2m1fn, tq::Symmetric, tq::Numerics<>>(ranges);
  CHECK(any.tensor_scale() == 4.0f);
  CHECK(std::vector<float>(any.values().begin(), any.values().end()) ==
        std::vector<float>{448 * 4, 4, 0, 0});
  const auto normal = Normal::fit<tq::float4_e2m1fn, tq::Symmetric, tq::Numerics<>>(ranges);
  CHECK(std::vector<float>(normal.values().begin(), normal.values().end()) ==
        std::vector<float>{448 * 4, 4, 0x1p-6f * 4, 0x1p-6f * 4});
  // Without a tensor scale blocks beyond 448 * 6 get the largest scale there is.
  const auto alone = Any::under<tq::float4_e2m1fn, tq::Symmetric>(1.0f, ranges);
  CHECK(alone.values()[0] == 448.0f);
  const std::vector<tq::Range> huge{{-biggest, biggest}};
  CHECK(Any::fit<tq::float4_e2m1fn, tq::Symmetric, tq::Numerics<>>(huge).values()[0] ==
        biggest / 2688 * 448);
  for (const float bad : {0.0f, -1.0f, inf, nan_value})
    test::raises(tq::errc::bad_scale, {"tq::Scales", "tensor scale"},
                 [&] { (void)Any({1, 2}, bad); });
  CHECK_FALSE(Any({1, 2}, 1.0f) == Any({1, 2}, 2.0f));
  CHECK_FALSE(Any({1, 2}, 1.0f) == Any({1, 3}, 1.0f));
}

TEST_CASE("scales quantized themselves", "[scales]") {
  using S = tq::Scales<tq::DoubleQuantized>;
  const oracle::Format map = oracle::format<tq::dynamic8>();
  inputs::Random r(5);
  for (const std::size_t n : {0u, 1u, 2u, 255u, 256u, 257u, 1000u}) {
    std::vector<float> x(n);
    for (float& v : x) v = f(std::fabs(r.normal()) * 0.05 + (r.chance(10) ? 0 : 0.01));
    const S s = S::nearest(x);
    double sum = 0;
    for (const float v : x) sum += d(v);
    const float offset = n == 0 ? 0.0f : f(sum / static_cast<double>(n));
    CHECK(s.offset() == offset);
    REQUIRE(s.block_scales().size() == (n + 255) / 256);
    REQUIRE(s.values().size() == n);
    int failed = 0;
    for (std::size_t i = 0; i < n; ++i) {
      float top = 0;
      for (std::size_t k = i / 256 * 256; k < std::min(n, i / 256 * 256 + 256); ++k)
        top = std::max(top, std::fabs(f(d(x[k]) - d(offset))));
      const float inverse = f(1.0 / d(std::max(top, 1e-38f)));
      const float at = f(d(f(d(x[i]) - d(offset))) * d(inverse));
      const std::uint32_t code = oracle::encode(map, d(at), tq::NearestEven{}, true);
      failed += s.block_scales()[i / 256] != top;
      failed += s.stored()[i] != code;
      failed += s.values()[i] != std::max(0.0f, f(d(f(map.value(code) * d(top))) + d(offset)));
      failed += !(std::fabs(s.values()[i] - x[i]) <= 0.05f * top);
    }
    INFO(n);
    CHECK(failed == 0);
  }
  // Never negative, whatever a file says.
  CHECK(S({0, 255}, {2.0f}, 1.0f).values()[0] == 0.0f);
  CHECK(S({0, 255}, {2.0f}, 1.0f).values()[1] == 3.0f);
  test::raises(tq::errc::shape_mismatch, {"tq::Scales", "expected 2", "257", "got 1"},
               [] { (void)S(std::vector<std::uint8_t>(257), {1.0f}, 0.0f); });
  test::raises(tq::errc::bad_scale, {"tq::Scales", "finite"}, [] { (void)S({1}, {inf}, 0.0f); });
  test::raises(tq::errc::bad_scale, {"tq::Scales", "finite"},
               [] { (void)S({1}, {1.0f}, nan_value); });
  CHECK_FALSE(S({1}, {1.0f}, 0.0f) == S({1}, {1.0f}, 0.5f));
}

TEST_CASE("the whole range of float has stored scales too", "[scales]") {
  const std::vector<tq::Range> all{{-biggest, biggest}};
  const auto finite = [](float v) { return std::isfinite(v) && v > 0; };
  using Onnx = tq::numerics::onnx;
  CHECK(finite(
      tq::Scales<tq::float8_e8m0fnu>::fit<tq::uint2, tq::Asymmetric, Onnx>(all).values()[0]));
  CHECK(
      finite(tq::Scales<tq::float8_e8m0fnu>::fit<tq::int8, tq::Asymmetric, Onnx>(all).values()[0]));
  CHECK(
      finite(tq::Scales<tq::float8_e8m0fnu>::fit<tq::int8, tq::Symmetric, Onnx>(all).values()[0]));
  using Two = tq::Scales<tq::TwoLevel<tq::float8_e4m3fn>>;
  CHECK(finite(Two::fit<tq::uint8, tq::Asymmetric, Onnx>(all).tensor_scale()));
  CHECK(finite(Two::fit<tq::uint8, tq::Asymmetric, Onnx>(all).values()[0]));
}

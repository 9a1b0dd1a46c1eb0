// SPDX-License-Identifier: MIT
#include <tq/core/codebook.hpp>
#include <tq/core/symmetry.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "support/catch.hpp"
#include "support/inputs.hpp"
#include "support/oracle.hpp"

namespace {

constexpr float biggest = std::numeric_limits<float>::max();

static_assert(tq::SymmetryFor<tq::Symmetric, tq::int8> &&
              tq::SymmetryFor<tq::Symmetric, tq::uint8>);
static_assert(tq::SymmetryFor<tq::SymmetricNarrow, tq::int4>);
static_assert(!tq::SymmetryFor<tq::SymmetricNarrow, tq::uint4>);
static_assert(tq::SymmetryFor<tq::Asymmetric, tq::int8> &&
              tq::SymmetryFor<tq::Asymmetric, tq::uint2>);
static_assert(!tq::SymmetryFor<int, tq::int8>);

bool unusable(float s) { return !(s > 0) || std::isinf(s) || std::isinf(1.0f / s); }

// The definitions in long double, where every intermediate is at least as exact as in double.
template <class T>
tq::Affine symmetric(tq::Range r) {
  const double top =
      std::max({0.0, static_cast<double>(r.max), T::qmin < 0 ? -static_cast<double>(r.min) : 0.0});
  const auto s = static_cast<float>(top / T::qmax);
  return {unusable(s) ? 1.0f : s, 0};
}
template <class T>
tq::Affine half(tq::Range r) {
  const double top = std::max({0.0, static_cast<double>(r.max), -static_cast<double>(r.min)});
  const auto s = static_cast<float>(top / ((static_cast<double>(T::qmax) - T::qmin) / 2));
  return {unusable(s) ? 1.0f : s, T::qmin < 0 ? 0 : 1 << (T::bits - 1)};
}
template <class T>
tq::Affine asymmetric(tq::Range r) {
  const double lo = std::min(0.0, static_cast<double>(r.min)),
               hi = std::max(0.0, static_cast<double>(r.max));
  const auto rounded = static_cast<float>((hi - lo) / (static_cast<double>(T::qmax) - T::qmin));
  const float s = unusable(rounded) ? 1.0f : rounded;
  double z = oracle::round(tq::NearestEven{}, T::qmin - lo / static_cast<double>(s), 0);
  z = std::min(std::max(z, static_cast<double>(T::qmin)), static_cast<double>(T::qmax));
  return {s, static_cast<std::int32_t>(z)};
}

template <class T>
void check_type(std::uint64_t seed) {
  inputs::Random r(seed);
  int failed = 0;
  for (int i = 0; i < 3000; ++i) {
    float a = inputs::any_bits(r), b = inputs::any_bits(r);
    if (r.chance(50)) a = static_cast<float>(r.normal()), b = static_cast<float>(r.normal());
    if (!(std::fabs(a) <= biggest)) a = r.chance(50) ? biggest : -biggest;
    if (!(std::fabs(b) <= biggest)) b = 0;
    const tq::Range range{std::min(a, b), std::max(a, b)};
    using One = tq::ScaleOne;
    using InDouble = tq::RangeInDouble;
    failed += !(tq::Symmetric::affine<T, One, InDouble>(range) == symmetric<T>(range));
    if constexpr (T::qmin < 0)
      failed += !(tq::SymmetricNarrow::affine<T, One, InDouble>(range) == symmetric<T>(range));
    failed += !(tq::SymmetricHalf::affine<T, One, InDouble>(range) == half<T>(range));
    const tq::Affine f = tq::Asymmetric::affine<T, One, InDouble>(range);
    failed += !(f == asymmetric<T>(range));
    failed +=
        f.zero_point < T::qmin || f.zero_point > T::qmax || !(f.scale > 0) || f.scale > biggest;
  }
  CHECK(failed == 0);
}

template <class T, class S>
void check_constants() {
  // Where the constant lies half a step above the highest code, the rounding of the scale counts
  // that many times.
  constexpr double rounding = std::is_same_v<S, tq::SymmetricHalf> ? 2e-5 : 1e-6;
  for (const float c : {1.0f, -1.0f, 0.1f, -0.3f, 3.0f, 1e-3f, 12345.678f, 1e30f, -1e30f, biggest,
                        -biggest, 1e-30f, -1e-37f, 1e-40f, -1e-45f, 0.0f, -0.0f}) {
    if (T::qmin == 0 && c < 0 && !S::has_zero_point) continue;  // negative values have no code
    const tq::Affine a = S::template affine<T>({c, c});
    const tq::CodeRange codes = S::template codes<T>();
    const std::int32_t q =
        oracle::quantize(c, a.scale, a.zero_point, codes.min, codes.max, tq::Numerics<>{});
    const double back = (static_cast<double>(q) - a.zero_point) * static_cast<double>(a.scale);
    INFO(T::name << " " << S::name << ": " << c << " becomes " << back << " with scale "
                 << a.scale);
    CHECK(std::fabs(back - static_cast<double>(c)) <=
          0.5 * static_cast<double>(a.scale) * (1 + rounding));
  }
}

}  // namespace

TEST_CASE("scale and zero point follow the definitions", "[symmetry]") {
  check_type<tq::int2>(1);
  check_type<tq::int4>(2);
  check_type<tq::int8>(3);
  check_type<tq::int16>(4);
  check_type<tq::uint2>(5);
  check_type<tq::uint4>(6);
  check_type<tq::uint8>(7);
  check_type<tq::uint16>(8);
  check_type<tq::int32>(9);
}

TEST_CASE("values worked out by hand", "[symmetry]") {
  CHECK(tq::Symmetric::affine<tq::int8>({-1.0f, 0.5f}) == tq::Affine{1.0f / 127, 0});
  CHECK(tq::Symmetric::affine<tq::uint8>({-3.0f, 0.5f}) == tq::Affine{0.5f / 255, 0});
  CHECK(tq::Symmetric::codes<tq::int4>() == tq::CodeRange{-8, 7});
  CHECK(tq::SymmetricNarrow::codes<tq::int4>() == tq::CodeRange{-7, 7});
  CHECK(tq::Asymmetric::affine<tq::uint8>({0.0f, 255.0f}) == tq::Affine{1.0f, 0});
  CHECK(tq::Asymmetric::affine<tq::uint8>({-255.0f, 0.0f}) == tq::Affine{1.0f, 255});
  CHECK(tq::Asymmetric::affine<tq::int8>({-128.0f, 127.0f}) == tq::Affine{1.0f, 0});
  CHECK(tq::Asymmetric::affine<tq::int8>({10.0f, 255.0f}) ==
        tq::Affine{1.0f, -128});  // extended to 0
  CHECK(tq::Asymmetric::affine<tq::uint8>({-0.5f, 254.5f}) == tq::Affine{1.0f, 0});  // 0.5 to even
  CHECK(tq::Asymmetric::affine<tq::uint8>({-1.5f, 253.5f}) == tq::Affine{1.0f, 2});
  CHECK(tq::SymmetricHalfDown::affine<tq::uint8>({-127.5f, 1.0f}) == tq::Affine{1.0f, 127});
  CHECK(tq::SymmetricHalfDown::affine<tq::uint4>({-1.0f, 7.5f}) == tq::Affine{1.0f, 7});
  CHECK(tq::SymmetricHalfDown::affine<tq::int8>({-1.0f, 127.5f}) == tq::Affine{1.0f, 0});
}

TEST_CASE("the whole range of float has a finite scale", "[symmetry]") {
  const tq::Range all{-biggest, biggest};
  CHECK(tq::Asymmetric::affine<tq::uint2>(all).scale < biggest);
  CHECK(tq::Asymmetric::affine<tq::int8>(all).zero_point ==
        oracle::round(tq::NearestEven{}, -0.5, 0));
  CHECK(tq::Symmetric::affine<tq::int2>(all) == tq::Affine{biggest, 0});
}

TEST_CASE("a constant tensor comes back within half a step", "[symmetry]") {
  check_constants<tq::int8, tq::Symmetric>();
  check_constants<tq::int8, tq::SymmetricNarrow>();
  check_constants<tq::int8, tq::Asymmetric>();
  check_constants<tq::uint8, tq::Symmetric>();
  check_constants<tq::uint8, tq::Asymmetric>();
  check_constants<tq::int4, tq::Symmetric>();
  check_constants<tq::uint4, tq::Asymmetric>();
  check_constants<tq::int2, tq::SymmetricNarrow>();
  check_constants<tq::uint2, tq::Asymmetric>();
  check_constants<tq::int16, tq::Asymmetric>();
  check_constants<tq::int8, tq::SymmetricHalf>();
  check_constants<tq::uint8, tq::SymmetricHalf>();
}

TEST_CASE("a range of zeros has the scale its policy says", "[symmetry]") {
  const tq::Range zero{0.0f, 0.0f}, tiny{0.0f, 1e-43f};
  for (const tq::Range& r : {zero, tiny}) {
    CHECK(tq::Symmetric::affine<tq::int8>(r) == tq::Affine{1.0f, 0});
    CHECK(tq::Asymmetric::affine<tq::uint8>(r) == tq::Affine{1.0f, 0});
    CHECK(tq::Asymmetric::affine<tq::int8>(r) == tq::Affine{1.0f, -128});
    CHECK(tq::Symmetric::affine<tq::int8, tq::ScaleEpsilon>(r) == tq::Affine{0x1p-23f, 0});
    CHECK(tq::Symmetric::affine<tq::int8, tq::ScaleTenth>(r) == tq::Affine{0.1f, 0});
    CHECK_THROWS_AS((tq::Symmetric::affine<tq::int8, tq::ScaleRaises>(r)), tq::error);
  }
  CHECK(tq::Symmetric::affine<tq::int8, tq::ScaleEpsilon>({0.0f, 1e-6f}).scale == 0x1p-23f);
  CHECK(tq::Symmetric::affine<tq::int8, tq::ScaleRaises>({-127.0f, 0.0f}) == tq::Affine{1.0f, 0});
}

TEST_CASE("where no code means 0, what is next to nothing stays so", "[symmetry]") {
  const float least = std::numeric_limits<float>::denorm_min();
  CHECK(tq::Symmetric::affine<tq::binary>({-least, least}).scale == 0.0f);
  CHECK(tq::Symmetric::affine<tq::binary>({-1e-30f, 1e-30f}).scale == 1e-30f);
  CHECK(tq::Symmetric::affine<tq::int8>({-least, least}).scale == 1.0f);
  CHECK(tq::Symmetric::affine<tq::binary, tq::ScaleTenth>({-least, least}).scale == 0.0f);
  CHECK(tq::Symmetric::affine<tq::binary, tq::ScaleEpsilon>({-1e-9f, 1e-9f}).scale == 0.0f);
  CHECK(tq::Symmetric::affine<tq::binary, tq::ScaleEpsilon>({-0x1p-24f, 0x1p-24f}).scale ==
        0x1p-23f);  // half of it
  CHECK(tq::Symmetric::affine<tq::nf4, tq::ScaleEpsilon>({-1e-9f, 1e-9f}).scale ==
        0x1p-23f);  // has a 0
}

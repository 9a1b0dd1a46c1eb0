// SPDX-License-Identifier: MIT
#include <tq/core/quant_params.hpp>

#include <concepts>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"

namespace {

using W8 = tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::Symmetric>;
using A8 = tq::QuantParams<tq::uint8, tq::PerTensor, tq::Asymmetric>;
using S8 = tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>;
using G4 = tq::QuantParams<tq::uint4, tq::PerGroup<32>, tq::Asymmetric>;

static_assert(tq::IntegerParams<W8> && tq::IntegerParams<A8> && !tq::AnyParams<int>);
static_assert(!W8::has_zero_point && A8::has_zero_point);
static_assert(std::is_trivially_copyable_v<S8> && sizeof(S8) == sizeof(float));
static_assert(sizeof(A8) == 8);
static_assert(S8(0.5f).affine(0) == tq::Affine{0.5f, 0});
static_assert(!std::is_constructible_v<S8, float, int>);
static_assert(!std::is_constructible_v<A8, float>);
static_assert(!std::is_convertible_v<float, S8>);
static_assert(!std::is_constructible_v<W8, tq::PerChannel<0>, std::vector<float>, std::vector<std::int32_t>>);

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();

}  // namespace

TEST_CASE("parameters keep what they are given", "[quant_params]") {
  const G4 p({}, {0.5f, 1e-45f}, {0, 15});
  CHECK(p.scales()[1] == 1e-45f);
  CHECK(p.zero_points()[1] == 15);
  CHECK(p.affine(1) == tq::Affine{1e-45f, 15});
  CHECK(p == G4({}, {0.5f, 1e-45f}, {0, 15}));
  CHECK_FALSE(p == G4({}, {0.5f, 1e-45f}, {1, 15}));
  CHECK(S8(std::numeric_limits<float>::max()).scales()[0] == std::numeric_limits<float>::max());
}

TEST_CASE("parameters say whether they fit a shape", "[quant_params]") {
  const W8 p({}, {1.0f, 2.0f});
  CHECK(p.check({2, 5}) == tq::errc::ok);
  CHECK(p.check({3, 5}) == tq::errc::shape_mismatch);
  CHECK(p.check({}) == tq::errc::bad_axis);
  CHECK(S8(1.0f).check({}) == tq::errc::ok);
  CHECK(S8(1.0f).check({0}) == tq::errc::ok);
  const tq::QuantParams<tq::int8, tq::PerGroup<>, tq::Symmetric> g(tq::PerGroup<>(0), {});
  CHECK(g.check({4}) == tq::errc::bad_group_size);
}

TEST_CASE("no object has an impossible scale", "[quant_params]") {
  for (const float bad : {0.0f, -0.0f, -1.0f, not_a_number, inf, -inf}) {
    test::raises(tq::errc::bad_scale, {"tq::QuantParams", "positive finite", "parameter 0"}, [&] { (void)S8(bad); });
    test::raises(tq::errc::bad_scale, {"tq::QuantParams", "parameter 0"}, [&] { (void)A8(bad, 0); });
    test::raises(tq::errc::bad_scale, {"tq::QuantParams", "parameter 2"}, [&] { (void)W8({}, {1.0f, 2.0f, bad}); });
    test::raises(tq::errc::bad_scale, {"tq::QuantParams", "parameter 1"}, [&] { (void)G4({}, {1.0f, bad}, {0, 0}); });
  }
}

TEST_CASE("no object has an impossible zero point", "[quant_params]") {
  test::raises(tq::errc::bad_zero_point, {"tq::QuantParams", "[0, 255]", "got 256"}, [] { (void)A8(1.0f, 256); });
  test::raises(tq::errc::bad_zero_point, {"got -1"}, [] { (void)A8(1.0f, -1); });
  test::raises(tq::errc::bad_zero_point, {"[0, 15]", "got 16", "parameter 1"},
               [] { (void)G4({}, {1.0f, 1.0f}, {0, 16}); });
  test::raises(tq::errc::shape_mismatch, {"tq::QuantParams", "(2)", "got 1"}, [] { (void)G4({}, {1.0f, 1.0f}, {0}); });
}

TEST_CASE("make_params serves every granularity", "[quant_params]") {
  CHECK(tq::make_params<S8>({}, {0.5f}) == S8(0.5f));
  CHECK(tq::make_params<A8>({}, {0.5f}, {7}) == A8(0.5f, 7));
  CHECK(tq::make_params<W8>({}, {0.5f, 1.0f}) == W8({}, {0.5f, 1.0f}));
  test::raises(tq::errc::shape_mismatch, {"tq::make_params", "got 2"}, [] { (void)tq::make_params<S8>({}, {1.0f, 1.0f}); });
  test::raises(tq::errc::shape_mismatch, {"tq::make_params"}, [] { (void)tq::make_params<A8>({}, {1.0f}); });
  test::raises(tq::errc::bad_scale, {"tq::QuantParams"}, [] { (void)tq::make_params<W8>({}, {0.0f}); });
}

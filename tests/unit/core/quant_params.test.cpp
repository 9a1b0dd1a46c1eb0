// SPDX-License-Identifier: MIT
#include <tq/core/fit_params.hpp>
#include <tq/core/formats.hpp>
#include <tq/core/make_params.hpp>
#include <tq/core/quant_params.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
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
static_assert(!std::is_convertible_v<float, S8>);
static_assert(
    !std::is_constructible_v<W8, tq::PerChannel<0>, std::vector<float>, std::vector<std::int32_t>>);

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN(),
                inf = std::numeric_limits<float>::infinity();

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
    test::raises(tq::errc::bad_scale, {"tq::QuantParams", "positive finite", "parameter 0"},
                 [&] { (void)S8(bad); });
    test::raises(tq::errc::bad_scale, {"tq::QuantParams", "parameter 0"},
                 [&] { (void)A8(bad, 0); });
    test::raises(tq::errc::bad_scale, {"tq::QuantParams", "parameter 2"},
                 [&] { (void)W8({}, {1.0f, 2.0f, bad}); });
    test::raises(tq::errc::bad_scale, {"tq::QuantParams", "parameter 1"},
                 [&] { (void)G4({}, {1.0f, bad}, {0, 0}); });
  }
}

TEST_CASE("no object has an impossible zero point", "[quant_params]") {
  test::raises(tq::errc::bad_zero_point, {"tq::QuantParams", "[0, 255]", "got 256"},
               [] { (void)A8(1.0f, 256); });
  test::raises(tq::errc::bad_zero_point, {"got -1"}, [] { (void)A8(1.0f, -1); });
  test::raises(tq::errc::bad_zero_point, {"[0, 15]", "got 16", "parameter 1"},
               [] { (void)G4({}, {1.0f, 1.0f}, {0, 16}); });
  test::raises(tq::errc::shape_mismatch, {"tq::QuantParams", "(2)", "got 1"},
               [] { (void)G4({}, {1.0f, 1.0f}, {0}); });
}

TEST_CASE("make_params serves every granularity", "[quant_params]") {
  CHECK(tq::make_params<S8>({}, {0.5f}) == S8(0.5f));
  CHECK(tq::make_params<A8>({}, {0.5f}, {7}) == A8(0.5f, 7));
  CHECK(tq::make_params<W8>({}, {0.5f, 1.0f}) == W8({}, {0.5f, 1.0f}));
  test::raises(tq::errc::shape_mismatch, {"tq::make_params", "got 2"},
               [] { (void)tq::make_params<S8>({}, {1.0f, 1.0f}); });
  test::raises(tq::errc::shape_mismatch, {"tq::make_params"},
               [] { (void)tq::make_params<A8>({}, {1.0f}); });
  test::raises(tq::errc::bad_scale, {"tq::QuantParams"},
               [] { (void)tq::make_params<W8>({}, {0.0f}); });
}

TEST_CASE("blocks of coded types may have scale 0, and NaN where it is a power of two",
          "[quant_params]") {
  using Plain = tq::QuantParams<tq::float8_e4m3fn, tq::PerChannel<0>, tq::Symmetric>;
  using Half = tq::QuantParams<tq::float4_e2m1fn, tq::PerChannel<0>, tq::Symmetric, tq::float16>;
  CHECK(Plain({}, {0.0f, 1.0f}).scales()[0] == 0.0f);
  for (const float bad : {-1.0f, -1e-45f, inf, -inf, not_a_number})
    test::raises(tq::errc::bad_scale, {"tq::QuantParams", "parameter 1"},
                 [&] { (void)Plain({}, {1.0f, bad}); });
  CHECK(Half({}, tq::Scales<tq::float16>({0x0000, 0x3c00})).scales()[1] == 1.0f);
  const std::vector<std::uint16_t> impossible{0x7c00, 0x7e00, 0xbc00,
                                              0xfc00};  // infinity, NaN, -1, -infinity
  for (const std::uint16_t bad : impossible)
    test::raises(tq::errc::bad_scale, {"tq::QuantParams", "parameter 0"},
                 [&] { (void)Half({}, tq::Scales<tq::float16>({bad})); });
  const tq::mxfp4 none({}, tq::Scales<tq::float8_e8m0fnu>({255}));
  CHECK(none.scales()[0] != none.scales()[0]);
  test::raises(tq::errc::bad_scale, {"tq::QuantParams"},
               [] { (void)tq::nvfp4({}, {{0x7f}, 1.0f}); });
  test::raises(tq::errc::bad_scale, {"tq::QuantParams"},
               [] { (void)tq::nvfp4({}, {{0xb8}, 1.0f}); });
  // Integers have neither.
  using Integer = tq::QuantParams<tq::int8, tq::PerGroup<32>, tq::Symmetric, tq::float8_e8m0fnu>;
  test::raises(tq::errc::bad_scale, {"tq::QuantParams"},
               [] { (void)Integer({}, tq::Scales<tq::float8_e8m0fnu>({255})); });
  using HalfInteger = tq::QuantParams<tq::int8, tq::PerGroup<32>, tq::Symmetric, tq::float16>;
  test::raises(tq::errc::bad_scale, {"tq::QuantParams"},
               [] { (void)HalfInteger({}, tq::Scales<tq::float16>({0})); });
  // One scale per tensor, stored or not.
  using Whole = tq::QuantParams<tq::float8_e5m2, tq::PerTensor, tq::Symmetric, tq::float16>;
  CHECK(Whole({}, tq::Scales<tq::float16>({0x4000})).affine(0) == tq::Affine{2.0f, 0});
  test::raises(tq::errc::shape_mismatch, {"one scale per tensor", "got 2"},
               [] { (void)Whole({}, tq::Scales<tq::float16>({0x4000, 0x4000})); });
}

TEST_CASE("parameters fit ranges, zero points the stored scales", "[quant_params]") {
  const std::vector<tq::Range> ranges{{-1.0f, 3.0f}, {0.0f, 0.0f}, {0.5f, 0.7f}, {-0.1f, 200.0f}};
  using Float = tq::QuantParams<tq::uint8, tq::PerChannel<0>, tq::Asymmetric>;
  const Float exact = tq::fit_params<Float>({}, ranges);
  using Half = tq::QuantParams<tq::uint8, tq::PerChannel<0>, tq::Asymmetric, tq::bfloat16>;
  const Half stored = tq::fit_params<Half>({}, ranges);
  int differ = 0;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    CHECK(exact.affine(i) == tq::affine_for<tq::uint8, tq::Asymmetric>(ranges[i]));
    const float scale =
        tq::bfloat16::format::decode(tq::bfloat16::format::encode(exact.scales()[i]));
    CHECK(stored.scales()[i] == scale);
    const double zero =
        -static_cast<double>(std::min(ranges[i].min, 0.0f)) / static_cast<double>(scale);
    CHECK(stored.zero_points()[i] == static_cast<std::int32_t>(std::nearbyint(zero)));
    differ += stored.scales()[i] != exact.scales()[i];
  }
  CHECK(differ > 0);
  const std::vector<tq::Range> one{{-4.0f, 2.0f}};
  CHECK(tq::fit_params<S8>({}, one) == S8(4.0f / 127));
  CHECK(tq::fit_params<tq::QuantParams<tq::float8_e4m3fn, tq::PerTensor, tq::Symmetric>>({}, one)
            .scales()[0] == 4.0f / 448);
  CHECK(tq::fit_params<tq::QuantParams<tq::ternary, tq::PerTensor, tq::Symmetric>>({}, one)
            .scales()[0] == 4.0f);
  // float16 and bfloat16 span enough to do without a scale, but for what lies beyond them.
  using F16 = tq::QuantParams<tq::float16, tq::PerTensor, tq::Symmetric>;
  CHECK(tq::fit_params<F16>({}, one).scales()[0] == 1.0f);
  CHECK(tq::fit_params<F16>({}, std::vector<tq::Range>{{-131008.0f, 0}}).scales()[0] == 2.0f);
  test::raises(tq::errc::shape_mismatch, {"got 4"}, [&] { (void)tq::fit_params<S8>({}, ranges); });
  using Raises = tq::Numerics<tq::NearestEven, tq::Divide, tq::NanToZero, tq::ScaleRaises>;
  test::raises(tq::errc::bad_scale, {"tq::ScaleRaises"},
               [&] { (void)tq::fit_params<W8, Raises>({}, ranges); });
}

TEST_CASE("zeros stay zeros", "[quant_params]") {
  const std::vector<tq::Range> zero{{0.0f, 0.0f}};
  const auto check = [&]<class T>(T) {
    const float s =
        tq::fit_params<tq::QuantParams<T, tq::PerTensor, tq::Symmetric>>({}, zero).scales()[0];
    using F = typename T::format;
    INFO(T::name << ", scale " << s);
    CHECK(F::decode(F::template encode<tq::Saturate>(0.0f, tq::NearestEven{}, 0)) * s == 0.0f);
    // Scale 0 only where the format has no zero of its own.
    CHECK((s == 0.0f) == (std::same_as<T, tq::iq4_nl> || std::same_as<T, tq::binary>));
  };
  check(tq::float8_e4m3fn{});
  check(tq::float16{});
  check(tq::float4_e2m1fn{});
  check(tq::fixed8{});
  check(tq::nf4{});
  check(tq::iq4_nl{});
  check(tq::binary{});
}

namespace {

using O8 = tq::QuantParams<tq::int8, tq::PerTensor, tq::FloatOffset>;
using O4 = tq::QuantParams<tq::uint4, tq::PerGroup<32>, tq::FloatOffset, tq::float16>;

static_assert(tq::OffsetParams<O8> && tq::IntegerParams<O8> && !tq::OffsetParams<A8> &&
              !tq::OffsetParams<int>);
static_assert(O8::has_offset && !O8::has_zero_point && !A8::has_offset);
static_assert(std::is_trivially_copyable_v<O8> && sizeof(O8) == 8);
static_assert(O8(0.5f, -1.5f).affine(0) == tq::OffsetAffine{0.5f, -1.5f});
static_assert(!std::is_constructible_v<O4, tq::PerGroup<32>, tq::Scales<tq::float16>>);
static_assert(!std::is_constructible_v<O4, tq::PerGroup<32>, tq::Scales<tq::float16>,
                                       std::vector<std::int32_t>>);

}  // namespace

TEST_CASE("parameters keep scales and offsets as they are stored", "[quant_params]") {
  const tq::Scales<tq::float16> scales({0x3c00, 0x4000});  // 1, 2
  const tq::Offsets<tq::float16> offsets({0x8000, 0xc500}),
      others({0x0000, 0xc500});  // -0, -5; 0, -5
  const O4 p({}, scales, offsets);
  CHECK(p.scales()[1] == 2.0f);
  CHECK(p.offsets()[1] == -5.0f);
  CHECK(std::signbit(p.offsets()[0]));
  CHECK(p.affine(1) == tq::OffsetAffine{2.0f, -5.0f});
  CHECK(p.stored_offsets().stored()[1] == 0xc500);
  CHECK(p.stored_scales() == scales);
  CHECK(p == O4({}, scales, offsets));
  CHECK_FALSE(p == O4({}, scales, others));
  CHECK(p.check({1, 64}) == tq::errc::ok);
  CHECK(p.check({3, 32}) == tq::errc::shape_mismatch);
  CHECK(tq::make_params<O4>({}, scales, offsets) == p);
  CHECK(tq::make_params<O8>({}, {0.5f}, {-7.0f}) == O8(0.5f, -7.0f));
  CHECK(O8(0.5f, -7.0f).offsets()[0] == -7.0f);
}

TEST_CASE("no object has an impossible offset", "[quant_params]") {
  for (const float bad : {not_a_number, inf, -inf})
    test::raises(tq::errc::not_finite, {"tq::QuantParams", "finite offsets", "parameter 0"},
                 [&] { (void)O8(1.0f, bad); });
  const std::vector<std::uint16_t> impossible{0x7c00, 0x7e00, 0xfc00};  // infinity, NaN, -infinity
  const tq::Scales<tq::float16> ones({0x3c00, 0x3c00});
  for (const std::uint16_t bad : impossible)
    test::raises(tq::errc::not_finite, {"tq::QuantParams", "finite offsets", "parameter 1"},
                 [&] { (void)O4({}, ones, tq::Offsets<tq::float16>({0x3c00, bad})); });
  test::raises(tq::errc::bad_scale, {"tq::QuantParams", "parameter 0"},
               [] { (void)O8(0.0f, 1.0f); });
  test::raises(tq::errc::shape_mismatch, {"tq::QuantParams", "offsets", "(2)", "got 1"},
               [&] { (void)O4({}, ones, tq::Offsets<tq::float16>({0x3c00})); });
  test::raises(tq::errc::shape_mismatch, {"tq::make_params", "offset", "got 1 and 2"},
               [] { (void)tq::make_params<O8>({}, {1.0f}, {1.0f, 2.0f}); });
}

TEST_CASE("parameters fit ranges, offsets the stored scales", "[quant_params]") {
  const std::vector<tq::Range> ranges{{-1.0f, 3.0f}, {0.0f, 0.0f}, {0.5f, 0.7f}, {100.1f, 200.0f}};
  const O4 p = tq::fit_params<O4>({}, ranges);
  REQUIRE(p.offsets().size() == ranges.size());
  for (std::size_t i = 0; i < ranges.size(); ++i)
    CHECK(p.affine(i) == tq::fit_affine<O4>(ranges[i]));
  CHECK(p.offsets()[3] == 100.125f);  // the float16 next to 100.1
  test::raises(tq::errc::shape_mismatch, {"tq::make_params"},
               [&] { (void)tq::fit_params<O8>({}, ranges); });
}

TEST_CASE("zero points and offsets go in and out as they are stored", "[quant_params]") {
  using Params = tq::QuantParams<tq::uint4, tq::PerChannel<0>, tq::Asymmetric>;
  const std::vector<std::int32_t> zeros{3, 15, 0};
  Params params({}, {1, 2, 3}, tq::ZeroPoints<tq::uint4>(std::span(zeros)));
  CHECK(params == Params({}, {1, 2, 3}, zeros));
  const void* const memory = params.stored_zero_points().stored().data();
  const auto own = std::move(params).stored_zero_points();
  CHECK(own.stored().data() == memory);
  test::raises(tq::errc::shape_mismatch, {"as many zero points as scales (2)", "got 3"},
               [&] { (void)Params({}, {1, 2}, tq::ZeroPoints<tq::uint4>(std::span(zeros))); });
  using Offsets = tq::QuantParams<tq::uint4, tq::PerChannel<0>, tq::FloatOffset, tq::float16>;
  Offsets with({}, tq::Scales<tq::float16>({0x3c00}), tq::Scales<tq::float16>({0x4000}));
  CHECK(std::move(with).stored_offsets().values()[0] == 2.0f);
}

TEST_CASE("parameters remember the numerics they were made for", "[quant_params]") {
  using Flat8 = tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>;
  using A4 = tq::QuantParams<tq::uint4, tq::PerChannel<0>, tq::Asymmetric>;
  using tq::numerics::torch;
  static_assert(std::same_as<Flat8::numerics_type, tq::numerics::onnx>);
  static_assert(std::same_as<tq::params_under<A4, torch>::numerics_type, torch>);
  static_assert(sizeof(tq::params_under<Flat8, torch>) == sizeof(Flat8));
  const A4 a({}, {0.5f, 2.0f}, {3, 4});
  const auto b = a.made_for<torch>();
  CHECK(b == a);
  CHECK_FALSE(b == A4({}, {0.5f, 2.0f}, {3, 5}));
  CHECK(A4(a).made_for<torch>().made_for<tq::numerics::onnx>() == a);
}

TEST_CASE("temporary parameters give values, not views", "[quant_params]") {
  using A4 = tq::QuantParams<tq::uint4, tq::PerChannel<0>, tq::Asymmetric>;
  const auto make = [] { return A4({}, {0.5f, 2.0f, 4.0f}, {3, 4, 5}); };
  std::vector<float> scales;
  for (const float s : make().scales()) scales.push_back(s);
  CHECK(scales == std::vector<float>{0.5f, 2.0f, 4.0f});
  const auto zero_points = make().zero_points();
  CHECK(std::vector<std::int32_t>(zero_points.begin(), zero_points.end()) ==
        std::vector<std::int32_t>{3, 4, 5});
  CHECK(zero_points.back() == 5);
  CHECK(make().scales().size() == 3);
  using Offset = tq::QuantParams<tq::uint4, tq::PerTensor, tq::FloatOffset>;
  CHECK(Offset(2.0f, -1.0f).offsets()[0] == -1.0f);
  CHECK(Offset(2.0f, -1.0f).scales().front() == 2.0f);
}

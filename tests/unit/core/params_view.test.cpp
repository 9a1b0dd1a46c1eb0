// SPDX-License-Identifier: MIT
#include <tq/core/params_view.hpp>

#include <tq/core/formats.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/fake_quantize.hpp>
#include <tq/ops/quantize.hpp>
#include <tq/ops/quantize_dynamic.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"

namespace {

using tq::Asymmetric;
using tq::PerGroup;
using tq::PerToken;
using tq::Symmetric;

using Rows = tq::ParamsView<tq::int8, PerToken, Asymmetric>;
using Groups = tq::ParamsView<tq::int4, PerGroup<32>, Symmetric, tq::float16>;
using Mx = tq::ParamsView<tq::float4_e2m1fn, PerGroup<32>, Symmetric, tq::float8_e8m0fnu>;

static_assert(tq::AnyParams<Rows> && tq::IntegerParams<Rows> && tq::CodedParams<Mx>);
template <class Scale>
concept CanBeSeen = requires { typename tq::ParamsView<tq::int8, PerToken, Symmetric, Scale>; };
static_assert(CanBeSeen<float> && CanBeSeen<tq::float16> && !CanBeSeen<tq::DoubleQuantized>);

std::vector<float> waves(std::size_t n) {
  std::vector<float> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<float>(i * 7919 % 1001) / 500 - 0.9f;
  return x;
}

// Holds that operations give with a view what they give with parameters that own the same.
template <class View, class Params>
void check_same(const tq::ConstTensorView& x, const View& view, const Params& params) {
  using code_type = typename Params::code_type;
  std::vector<code_type> codes(x.size()), wanted(x.size());
  tq::quantize(x, view, codes);
  tq::quantize(x, params, wanted);
  CHECK(codes == wanted);
  std::vector<std::byte> bytes(tq::LowFirst::bytes_for<typename Params::type>(x.size()));
  tq::quantize(x, view, std::span(bytes));
  CHECK(std::ranges::equal(bytes, tq::quantize(x, params).bytes()));
  std::vector<float> out(x.size());
  tq::dequantize(std::span<const std::byte>(bytes), view,
                 tq::TensorView<float>(out.data(), x.shape()));
  CHECK(out == tq::dequantize(tq::quantize(x, params)));
  CHECK(tq::fake_quantize(x, view) == tq::fake_quantize(x, params));
  for (std::size_t i = 0; i < params.scales().size(); ++i)
    CHECK(view.affine(i) == params.affine(i));
}

}  // namespace

TEST_CASE("what quantize_dynamic writes is read where it is", "[params_view]") {
  const std::vector<float> data = waves(4 * 96);
  const tq::ConstTensorView x(data.data(), {4, 96});
  std::vector<std::int8_t> codes(x.size());
  std::vector<float> scales(4);
  std::vector<std::int32_t> zero_points(4);
  using Params = tq::QuantParams<tq::int8, PerToken, Asymmetric>;
  tq::quantize_dynamic<Params>(
      x, tq::detail::dynamic_outputs<Params>(codes, std::span(scales), std::span(zero_points)));
  const Rows view({}, scales, zero_points);
  CHECK(view.scales().data() == scales.data());
  CHECK(view.zero_points().data() == zero_points.data());
  const auto owning = tq::quantize_dynamic<Params>(x);
  std::vector<float> out(x.size());
  tq::dequantize(codes, view, tq::TensorView<float>(out.data(), x.shape()));
  CHECK(out == tq::dequantize(owning));
  check_same(x, view, owning.params());
}

TEST_CASE("so are scales that are stored as codes", "[params_view]") {
  const std::vector<float> data = waves(3 * 80);
  const tq::ConstTensorView x(data.data(), {3, 80});
  const auto mx = tq::quantize_dynamic<tq::mxfp4>(x);
  check_same(x, Mx({}, mx.params().stored_scales().stored()), mx.params());
  const std::vector<std::uint16_t> halves{0x3c00, 0x3800, 0x1400, 0x2e66, 0x0001,
                                          0x3555, 0x3c00, 0x3001, 0x4000};
  using Params = tq::QuantParams<tq::int4, PerGroup<32>, Symmetric, tq::float16>;
  check_same(x, Groups({}, halves), Params({}, tq::Scales<tq::float16>(halves)));
}

TEST_CASE("a view refuses what parameters refuse", "[params_view]") {
  const std::vector<float> scales{1.0f, 2.0f}, bad{1.0f, 0.0f};
  const std::vector<std::int32_t> zeros{0, 127}, beyond{0, 128}, one{0};
  CHECK(Rows({}, scales, zeros).affine(1) == tq::Affine{2.0f, 127});
  test::raises(tq::errc::bad_scale, {"tq::ParamsView", "parameter 1"},
               [&] { (void)Rows({}, bad, zeros); });
  test::raises(tq::errc::bad_zero_point, {"tq::ParamsView", "128", "parameter 1"},
               [&] { (void)Rows({}, scales, beyond); });
  test::raises(tq::errc::shape_mismatch, {"tq::ParamsView", "(2)", "got 1"},
               [&] { (void)Rows({}, scales, one); });
  using Whole = tq::ParamsView<tq::int8, tq::PerTensor, Symmetric>;
  test::raises(tq::errc::shape_mismatch, {"tq::ParamsView", "one scale per tensor"},
               [&] { (void)Whole({}, scales); });
  const std::vector<std::uint16_t> infinite{0x7c00};
  test::raises(tq::errc::bad_scale, {"tq::ParamsView"}, [&] { (void)Groups({}, infinite); });
  const std::vector<float> x(3 * 8);
  std::vector<std::int8_t> codes(x.size());
  test::raises(tq::errc::shape_mismatch, {"tq::quantize", "3", "got 2"}, [&] {
    tq::quantize(tq::ConstTensorView(x.data(), {3, 8}), Rows({}, scales, zeros), codes);
  });
}

template <class Scale>
concept CanBeOffset =
    requires { typename tq::ParamsView<tq::uint4, PerToken, tq::FloatOffset, Scale>; };
static_assert(CanBeOffset<float> && CanBeOffset<tq::bfloat16> && !CanBeOffset<tq::float8_e4m3fn>);

TEST_CASE("offsets in memory of the caller's", "[params_view]") {
  using View = tq::ParamsView<tq::uint4, PerGroup<32>, tq::FloatOffset, tq::float16>;
  using Params = tq::QuantParams<tq::uint4, PerGroup<32>, tq::FloatOffset, tq::float16>;
  static_assert(tq::OffsetParams<View> && View::has_offset && !View::has_zero_point);
  const std::vector<std::uint16_t> scales{0x3c00, 0x3555, 0x0001}, offsets{0xc500, 0x3c01, 0x0000};
  const View view({}, scales, offsets);
  const Params params({}, tq::Scales<tq::float16>(scales), tq::Offsets<tq::float16>(offsets));
  for (std::size_t i = 0; i < scales.size(); ++i) CHECK(view.affine(i) == params.affine(i));
  CHECK(view.offsets()[0] == -5.0f);
  CHECK(view.check({96}) == tq::errc::ok);
  CHECK(view.check({97}) == tq::errc::shape_mismatch);
  std::vector<std::byte> bytes(48);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 37 % 256);
  std::vector<float> got(96), wanted(96);
  tq::dequantize(std::span<const std::byte>(bytes), view, tq::TensorView<float>(got.data(), {96}));
  tq::dequantize(std::span<const std::byte>(bytes), params,
                 tq::TensorView<float>(wanted.data(), {96}));
  CHECK(got == wanted);
  const std::vector<std::uint16_t> infinite{0xc500, 0x7c00, 0x0000};
  test::raises(tq::errc::not_finite, {"tq::ParamsView", "finite offsets", "parameter 1"},
               [&] { (void)View({}, scales, infinite); });
  test::raises(tq::errc::shape_mismatch, {"tq::ParamsView", "(3)", "got 2"},
               [&] { (void)View({}, scales, std::span(offsets).first(2)); });
  const std::vector<float> in_float{0.5f}, at{-2.0f};
  const tq::ParamsView<tq::int8, tq::PerTensor, tq::FloatOffset> whole({}, in_float, at);
  CHECK(whole.affine(0) == tq::OffsetAffine{0.5f, -2.0f});
}

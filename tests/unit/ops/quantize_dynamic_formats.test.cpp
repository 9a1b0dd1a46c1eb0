// SPDX-License-Identifier: MIT
#include <tq/core/fit_params.hpp>
#include <tq/core/formats.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/quantize_dynamic.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"
#include "support/thread_executor.hpp"

namespace {

using tq::Shape;

std::vector<float> values(std::size_t n, bool specials) {
  inputs::Random r(5 + n);
  std::vector<float> x(n);
  for (float& v : x) {
    v = static_cast<float>(std::ldexp(r.normal(), r.between(-6, 3)));
    if (specials && r.chance(3))
      v = r.chance(50) ? std::nanf("") : std::numeric_limits<float>::infinity();
  }
  for (std::size_t i = n / 2; i < n / 2 + 70 && i < n; ++i) x[i] = 0.0f;  // blocks of zeros
  return x;
}

// The two steps: the range of every block, one value after the other, then the codes.
template <class Params, class N>
tq::QuantizedTensor<Params> in_two_steps(tq::ConstTensorView x,
                                         const typename Params::granularity_type& g, const N& n) {
  const Shape& shape = x.shape();
  const Shape grid = tq::param_shape(g, shape), block = g.block(shape);
  std::vector<tq::Range> ranges(grid.size(), tq::Range{0.0f, 0.0f});
  Shape at = shape;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    std::size_t rest = i, slot = 0;
    for (int a = shape.rank() - 1; a >= 0; --a) {
      at[a] = rest % shape[a];
      rest /= shape[a];
    }
    std::ptrdiff_t offset = 0;
    for (int a = 0; a < shape.rank(); ++a) {
      slot = slot * grid[a] + at[a] / block[a];
      offset += static_cast<std::ptrdiff_t>(at[a]) * x.stride(a);
    }
    const float v = std::fabs(x.data()[offset]);
    if (std::isfinite(v) && v > ranges[slot].max) ranges[slot] = {-v, v};
  }
  return tq::quantize(x, tq::fit_params<Params, N>(g, ranges), n);
}

template <class Params, class N = tq::numerics::onnx>
std::string differences(tq::ConstTensorView x, typename Params::granularity_type g = {},
                        const N& n = {}) {
  std::string text;
  const auto wanted = in_two_steps<Params>(x, g, n);
  const auto check = [&](const auto& got, const char* who) {
    if (!(got.params() == wanted.params()))
      text += std::string(who) + ": scales of " + to_string(x.shape()) + "\n";
    if (!std::equal(got.bytes().begin(), got.bytes().end(), wanted.bytes().begin(),
                    wanted.bytes().end()))
      text += std::string(who) + ": codes of " + to_string(x.shape()) + "\n";
  };
  check(tq::quantize_dynamic<Params>(x, g, n), "serial");
  check(tq::quantize_dynamic<Params>(x, g, n, test::Threads{}), "threads");
  check(tq::quantize_dynamic<Params>(x, g, n, test::Backwards{}), "backwards");
  using Scale = tq::Scales<typename Params::scale_type>;
  if constexpr (!std::is_same_v<typename Params::scale_type, tq::DoubleQuantized>) {
    const Scale& scales = wanted.params().stored_scales();
    std::vector<std::byte> bytes(wanted.bytes().size());
    std::vector<typename Scale::stored_type> stored(scales.stored().size());
    if constexpr (requires { scales.tensor_scale(); }) {
      const float most = tq::tensor_scale<Params>(x, g, n);
      if (most != scales.tensor_scale() ||
          most != tq::tensor_scale<Params>(x, g, n, test::Threads{}) ||
          most != tq::tensor_scale<Params>(x, test::Threads{}, g, n))
        text += "tensor scale of " + to_string(x.shape()) + "\n";
      tq::quantize_dynamic<Params>(
          x, {.codes = std::span(bytes), .scales = std::span(stored), .tensor_scale = most}, g, n);
    } else {
      tq::quantize_dynamic<Params>(x, {.codes = std::span(bytes), .scales = std::span(stored)}, g,
                                   n);
    }
    if (!std::equal(bytes.begin(), bytes.end(), wanted.bytes().begin()))
      text += "codes into memory of " + to_string(x.shape()) + "\n";
    if (!std::equal(stored.begin(), stored.end(), scales.stored().begin()))
      text += "scales into memory of " + to_string(x.shape()) + "\n";
  }
  return text;
}

template <class Params, class N = tq::numerics::onnx>
std::string over_shapes(bool specials = false) {
  std::string text;
  for (const Shape& shape :
       {Shape{4, 64}, Shape{3, 50}, Shape{17}, Shape{5, 1}, Shape{2, 3, 96}, Shape{300, 1000}}) {
    const std::vector<float> x = values(shape.size(), specials);
    text += differences<Params, N>(tq::ConstTensorView(x.data(), shape));
  }
  const std::vector<float> x = values(40 * 96, specials);  // transposed
  text += differences<Params, N>(tq::ConstTensorView(x.data(), Shape{96, 40}, {1, 96}));
  return text;
}

TEST_CASE("scales and codes in one pass are those of two steps") {
  CHECK(over_shapes<tq::mxfp4>() == "");
  CHECK(over_shapes<tq::mxfp8_e4m3>(true) == "");
  CHECK(over_shapes<tq::nvfp4>() == "");
  CHECK(over_shapes<tq::nvfp4_normal>(true) == "");
  CHECK(over_shapes<tq::nf4_64, tq::numerics::bitsandbytes>() == "");
  CHECK(over_shapes<tq::nf4_64_double, tq::numerics::bitsandbytes>() == "");
  CHECK(over_shapes<tq::QuantParams<tq::float8_e4m3fn, tq::PerToken, tq::Symmetric>>(true) == "");
}

TEST_CASE("blocks that are no stretches take two passes") {
  using Channels = tq::QuantParams<tq::float8_e5m2, tq::PerChannel<>, tq::Symmetric, tq::float16>;
  using Tiles =
      tq::QuantParams<tq::float4_e2m1fn, tq::PerBlock<16, 24>, tq::Symmetric, tq::float8_e8m0fnu>;
  const std::vector<float> x = values(40 * 96, true);
  const tq::ConstTensorView view(x.data(), Shape{40, 96});
  for (const int axis : {0, 1, -1})
    CHECK(differences<Channels>(view, tq::PerChannel<>(axis)) == "");
  CHECK(differences<Tiles>(view) == "");
}

TEST_CASE("the tensor scale is that of the largest finite value, wherever it is") {
  std::vector<float> x(600000, 1.0f);
  x[577777] = -2688.0f;  // 6 * 448
  x[3] = std::numeric_limits<float>::infinity();
  const tq::ConstTensorView view(x.data(), Shape{600, 1000}),
      strided(x.data() + 1, Shape{600, 500}, {1000, 2});
  CHECK(tq::tensor_scale<tq::nvfp4>(view) == 1.0f);
  CHECK(tq::tensor_scale<tq::nvfp4>(view, test::Threads{}) == 1.0f);
  CHECK(tq::tensor_scale<tq::nvfp4>(strided) == 1.0f);
  CHECK(tq::tensor_scale<tq::nvfp4>(tq::ConstTensorView(x.data(), Shape{600, 500}, {1000, 2})) ==
        1.0f / 2688.0f);
  CHECK(tq::tensor_scale<tq::nvfp4>(tq::ConstTensorView(nullptr, Shape{0})) == 1.0f);
}

TEST_CASE("block scales under a tensor scale that was calibrated on other data") {
  std::vector<float> x(32, 0.0f);
  x[0] = 6.0f;             // block scale 1
  x[16] = 6.0f * 1000.0f;  // beyond the largest, 448
  const tq::ConstTensorView view(x.data(), Shape{1, 32});
  std::vector<std::byte> bytes(16);
  std::vector<std::uint8_t> scales(2);
  tq::quantize_dynamic<tq::nvfp4>(
      view, {.codes = std::span(bytes), .scales = std::span(scales), .tensor_scale = 1.0f});
  CHECK(scales == std::vector<std::uint8_t>{0x38, 0x7e});
  CHECK(bytes[0] == std::byte{0x07});
  CHECK(bytes[8] == std::byte{0x07});  // 6 * 448
  for (const float wrong : {0.0f, -1.0f, std::numeric_limits<float>::infinity(), std::nanf("")})
    test::raises(tq::errc::bad_scale, {"tq::quantize_dynamic", "tensor scale", "got"}, [&] {
      tq::quantize_dynamic<tq::nvfp4>(
          view, {.codes = std::span(bytes), .scales = std::span(scales), .tensor_scale = wrong});
    });
}

TEST_CASE("nothing, and nothing finite, have scales that make no harm") {
  const auto empty = tq::quantize_dynamic<tq::mxfp4>(tq::ConstTensorView(nullptr, Shape{0, 32}));
  CHECK(empty.bytes().empty());
  CHECK(empty.params().scales().empty());
  const std::vector<float> x(64, std::nanf(""));
  const auto q = tq::quantize_dynamic<tq::nvfp4>(std::span(x));
  for (const float v : tq::dequantize(q)) CHECK(v == 0.0f);
}

TEST_CASE("a granularity that does not fit is refused") {
  using P = tq::QuantParams<tq::float8_e5m2, tq::PerChannel<>, tq::Symmetric>;
  const std::vector<float> x(12);
  test::raises(tq::errc::bad_axis, {"tq::quantize_dynamic", "per_channel"}, [&] {
    (void)tq::quantize_dynamic<P>(tq::ConstTensorView(x.data(), Shape{3, 4}), tq::PerChannel<>(2));
  });
}

TEST_CASE("memory that does not fit is refused before anything is written") {
  const std::vector<float> x(64, 1.0f);
  const tq::ConstTensorView view(x.data(), Shape{2, 32});
  std::vector<std::byte> bytes(32, std::byte{99});
  std::vector<std::uint8_t> scales(2, 99);
  test::raises(tq::errc::shape_mismatch, {"tq::quantize_dynamic", "scales of 2", "got 1"}, [&] {
    tq::quantize_dynamic<tq::mxfp4>(
        view, {.codes = std::span(bytes), .scales = std::span(scales).first(1)});
  });
  test::raises(tq::errc::shape_mismatch, {"tq::quantize_dynamic", "bytes of codes of 32", "got 31"},
               [&] {
                 tq::quantize_dynamic<tq::mxfp4>(
                     view, {.codes = std::span(bytes).first(31), .scales = std::span(scales)});
               });
  CHECK(bytes == std::vector<std::byte>(32, std::byte{99}));
  CHECK(scales == std::vector<std::uint8_t>(2, 99));
}

}  // namespace

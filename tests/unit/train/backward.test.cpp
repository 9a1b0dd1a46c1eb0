// SPDX-License-Identifier: MIT
#include <tq/ops/fake_quantize.hpp>
#include <tq/train/backward.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "support/catch.hpp"

namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();

using Int8 = tq::QuantParams<tq::int8, tq::PerTensor, tq::Asymmetric>;

tq::errc code_of(auto&& f) {
  try {
    f();
  } catch (const tq::error& e) {
    return e.code();
  }
  return tq::errc::ok;
}

}  // namespace

TEST_CASE("fake_quantize_backward: the gradient passes where the code is not clipped") {
  // Scale 1, zero point 3: values of round(x) from -131 to 124 have a code.
  const Int8 params(1.0f, 3);
  const std::vector<float> x{0,      -131,   -131.5f, -131.6f, -132, 124,
                             124.5f, 124.6f, 125,     inf,     -inf, nan_value};
  const std::vector<float> dy(x.size(), -2.5f);
  std::vector<float> dx(x.size(), 7);
  tq::fake_quantize_backward(x, params, dy, dx);
  // -131.5 rounds to -132 and 124.5 to 124: ties go to even.
  CHECK(dx == std::vector<float>{-2.5f, -2.5f, 0, 0, 0, -2.5f, -2.5f, 0, 0, 0, 0, 0});
}

TEST_CASE("fake_quantize_backward: the range is that of the symmetry") {
  const std::vector<float> x{-128, -127, 127, 128}, dy(4, 1.0f);
  std::vector<float> dx(4);
  tq::fake_quantize_backward(x, tq::QuantParams<tq::int8, tq::PerTensor, tq::SymmetricNarrow>(1.0f),
                             dy, dx);
  CHECK(dx == std::vector<float>{0, 1, 1, 0});
  tq::fake_quantize_backward(x, tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>(1.0f), dy,
                             dx);
  CHECK(dx == std::vector<float>{1, 1, 1, 0});
}

TEST_CASE("fake_quantize_backward: rounding and scaling are those of the numerics") {
  const Int8 params(1.0f, 0);
  const std::vector<float> x{127.9f}, dy{1};
  std::vector<float> dx(1);
  tq::fake_quantize_backward(x, params, dy, dx);
  CHECK(dx[0] == 0);
  tq::fake_quantize_backward(x, params, dy, dx, tq::Numerics<tq::TowardZero>{});
  CHECK(dx[0] == 1);

  // At the end of the range, x / s and x * (1 / s) round to different codes for some x and s.
  std::size_t differing = 0;
  for (int k = 0; k < 100; ++k) {
    const float s = 0.01f + 0.001f * static_cast<float>(k);
    const Int8 fine(s, 0);
    float v = 127.5f * s;
    for (int ulp = 0; ulp < 3; ++ulp) v = std::nextafter(v, 0.0f);
    for (int ulp = 0; ulp < 7; ++ulp, v = std::nextafter(v, 1e9f)) {
      const std::vector<float> one{v};
      tq::fake_quantize_backward(one, fine, dy, dx);
      const bool divided = std::nearbyint(v / s) <= 127;
      CHECK(dx[0] == (divided ? 1.0f : 0.0f));
      tq::fake_quantize_backward(one, fine, dy, dx, tq::numerics::torch{});
      const bool multiplied = std::nearbyint(v * (1.0f / s)) <= 127;
      CHECK(dx[0] == (multiplied ? 1.0f : 0.0f));
      differing += divided != multiplied;
    }
  }
  CHECK(differing > 0);
}

TEST_CASE("fake_quantize_backward: per channel and per group") {
  const std::vector<float> x{100, 200, 300, 100, 200, 300}, dy{1, 2, 3, 4, 5, 6};
  std::vector<float> dx(6);
  const tq::Shape shape{2, 3};
  const auto view = tq::ConstTensorView(x.data(), shape);
  tq::fake_quantize_backward(
      view, tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::Symmetric>({}, {1, 2}), dy, dx);
  CHECK(dx == std::vector<float>{1, 0, 0, 4, 5, 0});
  tq::fake_quantize_backward(
      view, tq::QuantParams<tq::int8, tq::PerChannel<1>, tq::Symmetric>({}, {1, 2, 3}), dy, dx);
  CHECK(dx == std::vector<float>{1, 2, 3, 4, 5, 6});
  tq::fake_quantize_backward(
      view,
      tq::QuantParams<tq::int8, tq::PerGroup<2>, tq::Symmetric>(tq::PerGroup<2>{}, {1, 2, 3, 4}),
      dy, dx);
  CHECK(dx == std::vector<float>{1, 0, 0, 4, 5, 6});
}

TEST_CASE("fake_quantize_backward: any strides, and the gradient in place") {
  const std::vector<float> x{1, 200, 3, 4, 5, -200};  // 2 x 3, row-major
  const std::vector<float> dy{1, 4, 2, 5, 3, 6};      // the same, column-major
  const tq::Shape shape{2, 3};
  const tq::Strides columns{1, 2};
  const tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric> params(1.0f);
  std::vector<float> dx(12, 9);
  const tq::Strides wide{6, 2};
  tq::fake_quantize_backward(tq::ConstTensorView(x.data(), shape), params,
                             tq::ConstTensorView(dy.data(), shape, columns),
                             tq::TensorView<float>(dx.data(), shape, wide));
  CHECK(dx == std::vector<float>{1, 9, 0, 9, 3, 9, 4, 9, 5, 9, 0, 9});

  std::vector<float> gradient{1, 2, 3, 4, 5, 6};
  tq::fake_quantize_backward(x, params, gradient, gradient);
  CHECK(gradient == std::vector<float>{1, 0, 3, 4, 5, 0});
}

TEST_CASE("fake_quantize_backward: where the gradient stops, fake_quantize is constant") {
  const Int8 params(0.037f, -5);
  const tq::Numerics<tq::Stochastic> numerics{{1234}};
  std::vector<float> x(2000), dy(2000, 1.0f), dx(2000);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.01f * (static_cast<float>(i) - 1000.0f);
  tq::fake_quantize_backward(x, params, dy, dx, numerics);
  const std::vector<float> y = tq::fake_quantize(x, params, numerics);
  const float low = -123 * 0.037f, high = 132 * 0.037f;
  std::size_t stopped = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (dx[i] == 0.0f) {
      CHECK((y[i] == low || y[i] == high));
      ++stopped;
    } else {
      CHECK(std::abs(y[i] - x[i]) <= 0.0371f);
    }
  }
  CHECK(stopped > 100);
}

TEST_CASE("fake_quantize_backward: what does not fit is refused, and nothing is written") {
  const Int8 params(1.0f, 0);
  const std::vector<float> x(6), dy(6, 1.0f);
  std::vector<float> dx(6, 9.0f), small(5, 9.0f);
  using tq::errc;
  CHECK(code_of([&] { tq::fake_quantize_backward(x, params, dy, small); }) == errc::shape_mismatch);
  CHECK(code_of([&] { tq::fake_quantize_backward(x, params, small, dx); }) == errc::shape_mismatch);
  const tq::QuantParams<tq::int8, tq::PerChannel<>, tq::Symmetric> channels(tq::PerChannel<>(3),
                                                                            {1.0f});
  CHECK(code_of([&] { tq::fake_quantize_backward(x, channels, dy, dx); }) == errc::bad_axis);
  const std::vector<float> bad{0, 0, nan_value, 0, 0, 0};
  using Raises = tq::Numerics<tq::NearestEven, tq::Divide, tq::RaiseNan>;
  CHECK(code_of([&] { tq::fake_quantize_backward(bad, params, dy, dx, Raises{}); }) ==
        errc::not_finite);
  CHECK(dx == std::vector<float>(6, 9.0f));
  const std::vector<float> none;
  std::vector<float> out;
  tq::fake_quantize_backward(none, params, none, out);
}

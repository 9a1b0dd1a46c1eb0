// SPDX-License-Identifier: MIT
// Layers with odd data or odd states.
#include <tq/calibrate/mean_abs.hpp>
#include <tq/core/formats.hpp>
#include <tq/observe/mean_abs.hpp>
#include <tq/train/fake_quantize.hpp>
#include <tq/train/learned_step.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"

namespace {

using tq::errc;
constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();

template <class Params, class Scale = tq::GuardedScale>
using Lsq = tq::FakeQuantize<Params, tq::MinMax, tq::LearnedStep<Scale>>;

const auto descend = [](std::span<float> values, std::span<const float> gradients) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] -= 0.1f * gradients[i];
};

}  // namespace

TEST_CASE("FakeQuantize: N of a gradient's scale is that of the slot, also of a short last one",
          "[train]") {
  using Params = tq::QuantParams<tq::int4, tq::PerGroup<4>, tq::Symmetric>;
  Lsq<Params> layer;
  const std::vector<float> x{1.4f, 1.4f, 1.4f, -7.0f, 1.4f, 7.0f}, gy(6, 1.0f);
  std::vector<float> y(6), gx(6);
  layer.forward(x, y);
  REQUIRE(layer.params().scales().size() == 2);
  CHECK(layer.params().scales()[0] == 1.0f);
  const std::span<const float> g = layer.backward(x, gy, gx);
  // 1.4 rounds to 1; -7 lies within -8..7, 7 at the end.
  CHECK(std::fabs(g[0] - (-3 * 0.4f) / std::sqrt(4.0f * 7)) < 1e-5f);
  CHECK(std::fabs(g[1] - (-0.4f + 7) / std::sqrt(2.0f * 7)) < 1e-5f);
}

TEST_CASE("FakeQuantize: a delayed layer observes until it begins, then learns", "[train]") {
  Lsq<tq::QuantParams<tq::int8, tq::PerTensor, tq::SymmetricNarrow>> layer;
  layer.delay(3);
  std::vector<float> y(1), gx(1);
  for (const float v : {12.7f, 127.0f, 63.5f}) {
    layer.forward(std::vector<float>{v}, y);
    CHECK(y[0] == v);
  }
  CHECK(layer.observer().batches() == 3);
  CHECK(layer.params().scales()[0] == 1.0f);
  layer.forward(std::vector<float>{254.0f}, y);
  CHECK(y[0] == 127.0f);
  CHECK(layer.observer().batches() == 3);
}

TEST_CASE("FakeQuantize: a channel of nothing but zeros starts at the smallest scale and learns",
          "[train]") {
  const auto learns = []<class Scale>(Scale) {
    using Params = tq::QuantParams<tq::binary, tq::PerChannel<0>, tq::Symmetric>;
    tq::FakeQuantize<Params, tq::MeanAbs, tq::LearnedStep<Scale>, tq::MeanAbsCalibrator> layer;
    const std::vector<float> x{0, 0, 0.5f, -0.25f}, gy{1, 1, 1, 1};
    const tq::ConstTensorView view(x.data(), {2, 2});
    std::vector<float> y(4), gx(4);
    layer.forward(view, y);
    for (int i = 0; i < 5; ++i) {
      (void)layer.backward(view, gy, gx);
      layer.update(descend);
      for (const float s : layer.params().scales()) CHECK((s > 0 && std::isfinite(1 / s)));
    }
  };
  learns(tq::GuardedScale{});
  learns(tq::LogScale{});
}

TEST_CASE("GuardedScale: scales near the largest float are brought back", "[train]") {
  const float top = std::numeric_limits<float>::max();
  CHECK(tq::GuardedScale::keep(top, top) == 0x1p126f);
  CHECK(tq::GuardedScale::keep(top, 0) == 0x1p126f);
  CHECK(tq::GuardedScale::keep(1, -5) == 0.5f);
}

TEST_CASE("FakeQuantize: under RaiseNan a NaN is refused before anything changes", "[train]") {
  using Params = tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>;
  using N = tq::Numerics<tq::NearestEven, tq::Divide, tq::RaiseNan>;
  tq::FakeQuantize<Params, tq::MinMax, tq::ClippedStraightThrough, tq::MinMaxCalibrator, N> layer;
  std::vector<float> y(2, 5);
  test::raises(errc::not_finite, {"forward", "NaN"},
               [&] { layer.forward(std::vector<float>{1, nan_value}, y); });
  CHECK(layer.batches() == 0);
  CHECK(layer.observer().batches() == 0);
  CHECK_FALSE(layer.ready());
  CHECK(y == std::vector<float>{5, 5});
}

TEST_CASE("FakeQuantize: states that do not agree with themselves are refused", "[train]") {
  using Layer = Lsq<tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::Symmetric>>;
  Layer layer;
  const std::vector<float> x{1, 2, 3, 4, 5, 6};
  std::vector<float> y(6);
  layer.forward(tq::ConstTensorView(x.data(), {2, 3}), y);
  Layer other;
  auto wrong_scale = layer.state();
  wrong_scale.learned[1] *= 2;
  test::raises(errc::malformed, {"restore", "slot 1"}, [&] { other.restore(wrong_scale); });
  auto negative = layer.state();
  negative.learned[0] = -5;
  test::raises(errc::malformed, {"restore", "slot 0"}, [&] { other.restore(negative); });
  auto slots = layer.state();
  slots.observer.reset();
  slots.observer.observe(tq::ConstTensorView(x.data(), {3, 2}));
  test::raises(errc::malformed, {"restore", "2 slots", "got 3"}, [&] { other.restore(slots); });
  CHECK_FALSE(other.ready());
}

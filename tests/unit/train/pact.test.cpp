// SPDX-License-Identifier: MIT
#include <tq/core/make_params.hpp>
#include <tq/train/pact.hpp>

#include "unit/train/gradient_cases.hpp"

namespace {

using namespace gradient_cases;

template <class G, class Gran>
using Layer = tq::FakeQuantize<tq::QuantParams<tq::uint4, Gran, tq::Symmetric>, tq::MinMax, G>;

// y = 0, alpha, or x and what rounding adds to it.
double clipped(double x, double alpha, const Frozen& f, const Slot& at) {
  return f.side < 0 ? 0 : f.side > 0 ? alpha : x + f.step * at.scale;
}
Frozen freeze(double x, const Slot& s) { return frozen(x / s.scale, s.lo, s.hi); }

template <class Gran>
void check_pact(Gran g, const tq::Shape& shape, std::uint64_t seed) {
  using L = Layer<tq::Pact<>, Gran>;
  using Params = typename L::params_type;
  const std::vector<float> alphas = spread(tq::param_count(g, shape), 0.1, 30);
  std::vector<float> scales;
  for (const float a : alphas) scales.push_back(a / 15);
  auto layer = layer_with<L>(g, tq::make_params<Params>(g, tq::Scales<float>(scales)), alphas);
  check(
      layer, shape, seed, freeze,
      [](double x, double alpha, double, const Frozen& f, const Slot& at) {
        return clipped(x, alpha, f, at);
      },
      no_factor);
}

}  // namespace

TEST_CASE("Pact: gradients agree with differences of the smooth function") {
  check_pact(tq::PerTensor{}, {6, 64}, 1);
  check_pact(tq::PerChannel<1>{}, {60, 7}, 2);
  check_pact(tq::PerGroup<16>{}, {6, 64}, 3);
}

TEST_CASE("Pact: the logarithm of the threshold is learned as well as the threshold") {
  using L = Layer<tq::Pact<tq::LogScale>, tq::PerChannel<0>>;
  const std::vector<float> logs{-2.3f, 0.7f, 3.25f};
  std::vector<float> scales;
  for (const float l : logs) scales.push_back(std::exp2(l) / 15);
  auto layer =
      layer_with<L>({}, tq::make_params<L::params_type>({}, tq::Scales<float>(scales)), logs);
  check(
      layer, {3, 200}, 4, freeze,
      [](double x, double log, double, const Frozen& f, const Slot& at) {
        return clipped(x, std::exp2(log), f, at);
      },
      no_factor);
}

TEST_CASE("Pact: at 0 the gradient passes to the input, at alpha to alpha") {
  using L = Layer<tq::Pact<>, tq::PerChannel<0>>;
  const float below = std::nextafter(7.5f, 0.0f);
  const std::vector<float> x{0.0f,  -0.0f,  -1e-30f, 7.5f, below,    0.3f,
                             -2.0f, 100.0f, inf,     -inf, nan_value};
  auto layer = repeated<L>(x.size(), 0.5f, 0, 7.5f);
  const Single got = single(layer, x, 3.0f);
  CHECK(got.gx == std::vector<float>{3, 3, 0, 0, 3, 3, 0, 0, 0, 0, 0});
  CHECK(got.first == std::vector<float>{0, 0, 0, 3, 0, 0, 0, 3, 3, 0, 0});
}

TEST_CASE("Pact: starts where calibration left the last code") {
  Layer<tq::Pact<>, tq::PerTensor> layer;
  const std::vector<float> x{-3.0f, 1.0f, 7.5f};
  std::vector<float> y(3);
  layer.forward(x, y);
  REQUIRE(layer.learned().size() == 1);
  CHECK(layer.learned()[0] == 7.5f);
  CHECK(layer.params().scales()[0] == 0.5f);
  layer.update([](std::span<float> v, std::span<const float>) { v[0] = 6.0f; });
  CHECK(layer.params().scales()[0] == 6.0f / 15);
}

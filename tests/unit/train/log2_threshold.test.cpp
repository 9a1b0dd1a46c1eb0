// SPDX-License-Identifier: MIT
#include <tq/core/make_params.hpp>
#include <tq/train/log2_threshold.hpp>

#include "unit/train/gradient_cases.hpp"

namespace {

using namespace gradient_cases;

template <class Gran, class Type = tq::int4, class Symmetry = tq::Symmetric>
using Layer =
    tq::FakeQuantize<tq::QuantParams<Type, Gran, Symmetry>, tq::MinMax, tq::Log2Threshold>;

template <class L>
void check_threshold(const tq::Shape& shape, std::uint64_t seed, float bits) {
  using Params = typename L::params_type;
  const std::size_t count = tq::param_count(typename L::granularity_type{}, shape);
  std::vector<float> logs, scales;
  for (std::size_t k = 0; k < count; ++k) {
    logs.push_back(-4.0f + 0.37f * static_cast<float>(k));
    scales.push_back(std::exp2(std::ceil(logs[k]) - bits));
  }
  auto layer = layer_with<L>({}, tq::make_params<Params>({}, tq::Scales<float>(scales)), logs);
  check(
      layer, shape, seed,
      [](double x, const Slot& s) { return frozen_by_code(x / s.scale, s.lo, s.hi); },
      [](double x, double log, double, const Frozen& f, const Slot& at) {
        const double s =
            at.scale * std::exp2(log - at.first);  // what the ceiling adds is kept constant
        return f.side < 0 ? s * at.lo : f.side > 0 ? s * at.hi : s * (x / s + f.step);
      },
      no_factor);
}

}  // namespace

TEST_CASE("Log2Threshold: gradients agree with differences of the smooth function") {
  check_threshold<Layer<tq::PerTensor>>({6, 64}, 1, 3);
  check_threshold<Layer<tq::PerChannel<0>>>({6, 64}, 2, 3);
  check_threshold<Layer<tq::PerGroup<16>, tq::uint4>>({6, 64}, 3, 4);
}

TEST_CASE("Log2Threshold: scales are powers of two, the least that reach the threshold") {
  using G = tq::Log2Threshold;
  const auto scale = [](float log, tq::kernels::Bounds b) { return G::affine({log, 0}, b).scale; };
  const tq::kernels::Bounds int8{-128, 127}, narrow{-127, 127}, uint8{0, 255}, ternary{-1, 1},
      int2{-2, 1};
  for (const auto& b : {int8, narrow}) {
    CHECK(scale(0.0f, b) == 1.0f / 128);
    CHECK(scale(0.01f, b) == 1.0f / 64);
    CHECK(scale(-0.01f, b) == 1.0f / 128);
    CHECK(scale(1.0f, b) == 1.0f / 64);
  }
  CHECK(scale(0.0f, uint8) == 1.0f / 256);
  CHECK(scale(0.5f, ternary) == 1.0f);
  CHECK(scale(0.5f, int2) == 1.0f);
  for (int e = -119; e <= 127; ++e)
    CHECK(scale(static_cast<float>(e), int8) == std::ldexp(1.0f, e - 7));
  CHECK(scale(-1e30f, int8) == 0x1p-126f);
  for (const float large :
       {128.0f, 133.0f, 1e30f}) {  // -128 * 2^121 is beyond float32, -127 * 2^121 is not
    CHECK(scale(large, int8) == 0x1p120f);
    CHECK(scale(large, narrow) == 0x1p121f);
    CHECK(scale(large, uint8) == 0x1p120f);
    CHECK(scale(large, int2) == 0x1p126f);
  }
}

TEST_CASE("Log2Threshold: starts with the scale of calibration, rounded up to a power of two") {
  const std::vector<float> x{-0.3f, 1.9f};
  std::vector<float> y(2);
  Layer<tq::PerTensor, tq::int8> layer;
  layer.forward(x, y);  // 1.9 / 127 lies between 2^-7 and 2^-6
  CHECK(layer.params().scales()[0] == 1.0f / 64);
  CHECK(std::fabs(layer.learned()[0] - std::log2(1.9f / 127 * 128)) < 1e-5f);
  CHECK(y[1] == 1.90625f);
}

TEST_CASE("Log2Threshold: what rounds to a code is inside, also beyond the ends") {
  // Scale 1/2, codes -8 to 7, slope times s ln 2.
  using L = Layer<tq::PerChannel<0>>;
  const std::vector<float> x{-4.0f, -4.25f, -4.26f, 3.5f, 3.74f,
                             3.75f, 0.25f,  inf,    -inf, nan_value};
  auto layer = repeated<L>(x.size(), 0.5f, 0, 1.5f);
  const Single got = single(layer, x, 3.0f);
  CHECK(got.gx == std::vector<float>{3, 3, 0, 3, 3, 0, 3, 0, 0, 0});
  const std::vector<double> slope{0, 0.5, -8, 0, -0.48, 7, -0.5, 7, -8, 0};
  for (std::size_t i = 0; i < x.size(); ++i) {
    INFO("x " << x[i]);
    CHECK(std::fabs(static_cast<double>(got.first[i]) - 3 * slope[i] * 0.5 * std::log(2.0)) <=
          3e-6);
  }
}

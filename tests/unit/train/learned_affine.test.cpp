// SPDX-License-Identifier: MIT
#include <tq/core/make_params.hpp>
#include <tq/train/learned_affine.hpp>

#include "unit/train/gradient_cases.hpp"

namespace {

using namespace gradient_cases;

template <class G, class Gran>
using Layer = tq::FakeQuantize<tq::QuantParams<tq::int4, Gran, tq::Asymmetric>, tq::MinMax, G>;

// y = s * (clamp(round(x / s) + z, qmin, qmax) - z) with z a real number.
double affine(double x, double s, double z, const Frozen& f, const Slot& at) {
  return f.side < 0 ? s * (at.lo - z) : f.side > 0 ? s * (at.hi - z) : s * (x / s + f.step);
}
Frozen freeze(double x, const Slot& s) {
  return frozen_by_code(x / s.scale, s.lo - s.zero, s.hi - s.zero);
}

template <class Gran>
void check_affine(Gran g, const tq::Shape& shape, std::uint64_t seed) {
  using L = Layer<tq::LearnedAffine<>, Gran>;
  using Params = typename L::params_type;
  const std::size_t count = tq::param_count(g, shape);
  std::vector<float> scales = spread(count, 0.01, 3), learned = scales;
  std::vector<std::int32_t> zeros;
  for (std::size_t k = 0; k < count; ++k) {
    zeros.push_back(static_cast<std::int32_t>((5 * k + 3) % 16) - 8);
    learned.push_back(static_cast<float>(zeros[k]));
  }
  auto layer =
      layer_with<L>(g, tq::make_params<Params>(g, tq::Scales<float>(scales), zeros), learned);
  check(
      layer, shape, seed, freeze,
      [](double x, double s, double z, const Frozen& f, const Slot& at) {
        return affine(x, s, z, f, at);
      },
      no_factor);
}

}  // namespace

TEST_CASE("LearnedAffine: gradients agree with differences of the smooth function") {
  check_affine(tq::PerTensor{}, {6, 64}, 1);
  check_affine(tq::PerChannel<0>{}, {6, 64}, 2);
  check_affine(tq::PerGroup<16>{}, {6, 64}, 3);
}

TEST_CASE("LearnedAffine: the logarithm of the scale is learned as well as the scale") {
  using L = Layer<tq::LearnedAffine<tq::LogScale>, tq::PerChannel<0>>;
  const std::vector<float> learned{-5.3f, -0.7f, 1.25f, -3.0f, 0.0f, 6.0f};
  std::vector<float> scales;
  for (std::size_t k = 0; k < 3; ++k) scales.push_back(std::exp2(learned[k]));
  auto layer = layer_with<L>(
      {}, tq::make_params<L::params_type>({}, tq::Scales<float>(scales), {-3, 0, 6}), learned);
  check(
      layer, {3, 200}, 4, freeze,
      [](double x, double log, double z, const Frozen& f, const Slot& at) {
        return affine(x, std::exp2(log), z, f, at);
      },
      no_factor);
}

TEST_CASE("LearnedAffine: what rounds to a code is inside, also at the ends and beyond them") {
  // Scale 1/2, zero point 2: the codes -8 to 7 stand for -5 to 2.5.
  using L = Layer<tq::LearnedAffine<>, tq::PerChannel<0>>;
  const std::vector<float> x{-5.0f, -5.2f, -5.25f, -5.3f, 2.5f, 2.7f,
                             2.75f, 2.74f, 0.25f,  inf,   -inf, nan_value};
  auto layer = repeated<L>(x.size(), 0.5f, 2, 0.5f, 2.0f);
  const Single got = single(layer, x, 3.0f);
  // -10.5 goes to -10, which has code -8; 5.5 goes to 6, which has none.
  CHECK(got.gx == std::vector<float>{3, 3, 3, 0, 3, 3, 0, 3, 3, 0, 0, 0});
  const std::vector<double> scale{0, 0.4, 0.5, -10, 0, -0.4, 5, -0.48, -0.5, 5, -10, 0};
  const std::vector<double> zero{0, 0, 0, -0.5, 0, 0, -0.5, 0, 0, -0.5, -0.5, 0};
  for (std::size_t i = 0; i < x.size(); ++i) {
    INFO("x " << x[i]);
    CHECK(std::fabs(static_cast<double>(got.first[i]) - 3 * scale[i]) <= 5e-6);
    CHECK(static_cast<double>(got.second[i]) == 3 * zero[i]);
  }
}

TEST_CASE("LearnedAffine: zero points are rounded to be used, and kept within the codes") {
  using G = tq::LearnedAffine<>;
  const tq::kernels::Bounds b{-8, 7};
  CHECK(G::affine({0.5f, 2.4f}, b) == tq::Affine{0.5f, 2});
  CHECK(G::affine({0.5f, 2.5f}, b) == tq::Affine{0.5f, 2});
  CHECK(G::affine({0.5f, 3.5f}, b) == tq::Affine{0.5f, 4});
  CHECK(G::keep({0.5f, 2.0f}, {0.5f, 1e30f}, b).second == 7);
  CHECK(G::keep({0.5f, 2.0f}, {0.5f, -1e30f}, b).second == -8);
  CHECK(G::keep({0.5f, 2.0f}, {0.6f, 2.3f}, b).second == 2.3f);
  const tq::Learned start = G::start({0.5f, -3}, b);
  CHECK(start.first == 0.5f);
  CHECK(start.second == -3.0f);
}

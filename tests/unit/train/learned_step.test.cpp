// SPDX-License-Identifier: MIT
#include <tq/core/make_params.hpp>
#include <tq/observe/mean_abs.hpp>
#include <tq/observe/mean_std.hpp>
#include <tq/train/learned_step.hpp>

#include "unit/train/gradient_cases.hpp"

namespace {

using namespace gradient_cases;

template <class G, class Gran = tq::PerTensor, class Type = tq::int4,
          class Symmetry = tq::Symmetric>
using Layer = tq::FakeQuantize<tq::QuantParams<Type, Gran, Symmetry>, tq::MinMax, G>;

// LSQ: y = s * (clamp(x / s, lo, hi) + step), the step that rounding makes.
double step(double x, double s, const Frozen& f, double lo, double hi) {
  return f.side < 0 ? s * lo : f.side > 0 ? s * hi : s * (x / s + f.step);
}
Frozen freeze(double x, const Slot& s) { return frozen(x / s.scale, s.lo, s.hi); }

template <class Gran>
void check_step(Gran g, const tq::Shape& shape, std::uint64_t seed) {
  using L = Layer<tq::LearnedStep<>, Gran>;
  using Params = typename L::params_type;
  const std::size_t count = tq::param_count(g, shape);
  const std::vector<float> scales = spread(count, 0.01, 3);
  auto layer = layer_with<L>(g, tq::make_params<Params>(g, tq::Scales<float>(scales)), scales);
  check(
      layer, shape, seed, freeze,
      [](double x, double s, double, const Frozen& f, const Slot& at) {
        return step(x, s, f, at.lo, at.hi);
      },
      step_factor);
}

// LSQ+: y = s * (clamp((x - beta) / s, qmin, qmax) + step) + beta.
double step_plus(double x, double s, double beta, const Frozen& f, double lo, double hi) {
  return step(x - beta, s, f, lo, hi) + beta;
}
Frozen freeze_plus(double x, const Slot& s) { return frozen(x / s.scale + s.zero, s.lo, s.hi); }

template <class Gran>
void check_plus(Gran g, const tq::Shape& shape, std::uint64_t seed) {
  using L = Layer<tq::LearnedStepPlus<>, Gran, tq::uint4, tq::Asymmetric>;
  using Params = typename L::params_type;
  const std::size_t count = tq::param_count(g, shape);
  std::vector<float> scales = spread(count, 0.01, 3), learned = scales;
  std::vector<std::int32_t> zeros;
  for (std::size_t k = 0; k < count; ++k) {
    zeros.push_back(static_cast<std::int32_t>((5 * k + 3) % 16));
    learned.push_back(-scales[k] * static_cast<float>(zeros[k]));
  }
  auto layer =
      layer_with<L>(g, tq::make_params<Params>(g, tq::Scales<float>(scales), zeros), learned);
  check(
      layer, shape, seed, freeze_plus,
      [](double x, double s, double beta, const Frozen& f, const Slot& at) {
        return step_plus(x, s, beta, f, at.lo, at.hi);
      },
      step_factor);
}

}  // namespace

TEST_CASE("LearnedStep: gradients agree with differences of the smooth function") {
  check_step(tq::PerTensor{}, {6, 64}, 1);
  check_step(tq::PerChannel<0>{}, {6, 64}, 2);
  check_step(tq::PerChannel<1>{}, {12, 33}, 3);
  check_step(tq::PerGroup<16>{}, {6, 64}, 4);
}

TEST_CASE("LearnedStep: the logarithm of the scale is learned as well as the scale") {
  using L = Layer<tq::LearnedStep<tq::LogScale>, tq::PerChannel<0>>;
  const std::vector<float> logs{-5.3f, -0.7f, 1.25f};
  std::vector<float> scales;
  for (const float l : logs) scales.push_back(std::exp2(l));
  auto layer =
      layer_with<L>({}, tq::make_params<L::params_type>({}, tq::Scales<float>(scales)), logs);
  check(
      layer, {3, 200}, 5, freeze,
      [](double x, double log, double, const Frozen& f, const Slot& at) {
        return step(x, std::exp2(log), f, at.lo, at.hi);
      },
      step_factor);
}

TEST_CASE("LearnedStep: at the ends of the codes the slope is the end, and no gradient passes") {
  // Scale 1/2, codes -8 to 7. One element per slot: the factor is 1 / sqrt(7).
  using L = Layer<tq::LearnedStep<>, tq::PerChannel<0>>;
  const float just = std::nextafter(3.5f, 0.0f), below = std::nextafter(-4.0f, 0.0f);
  const std::vector<float> x{-4.0f, below, 3.5f, just,  0.25f, 0.75f, -0.25f,
                             0.0f,  -0.0f, 4.0f, -9.0f, inf,   -inf,  nan_value};
  auto layer = repeated<L>(x.size(), 0.5f, 0, 0.5f);
  const Single got = single(layer, x, 3.0f);
  CHECK(got.gx == std::vector<float>{0, 3, 0, 3, 3, 3, 3, 3, 3, 0, 0, 0, 0, 0});
  // Ties go to even: 0.5 becomes 0, 1.5 becomes 2.
  const std::vector<double> slope{-8,   -8 - 2 * static_cast<double>(below),
                                  7,    7 - 2 * static_cast<double>(just),
                                  -0.5, 0.5,
                                  0.5,  0,
                                  0,    7,
                                  -8,   7,
                                  -8,   0};
  for (std::size_t i = 0; i < x.size(); ++i) {
    INFO("x " << x[i]);
    const double wanted = 3 * slope[i] / std::sqrt(7.0);
    CHECK(std::fabs(static_cast<double>(got.first[i]) - wanted) <= 1e-6 * std::fabs(wanted));
  }
}

TEST_CASE(
    "LearnedStep: the slope of an element that is not an integer is what its code stands for less "
    "the value") {
  using L = Layer<tq::LearnedStep<>, tq::PerChannel<0>, tq::float8_e4m3fn>;
  // At scale 1: 17 is a tie between 16 and 18, 16 has the even code; 448 is the largest value.
  const std::vector<float> x{17.0f, 1.0625f, 447.0f, 448.0f, -448.0f, 1000.0f, -inf, nan_value};
  auto layer = repeated<L>(x.size(), 1.0f, 0, 1.0f);
  const Single got = single(layer, x, 2.0f);
  CHECK(got.gx == std::vector<float>{2, 2, 2, 0, 0, 0, 0, 0});
  const std::vector<double> slope{-1, -0.0625, 1, 448, -448, 448, -448, 0};
  for (std::size_t i = 0; i < x.size(); ++i) {
    INFO("x " << x[i]);
    const double wanted = 2 * slope[i] / std::sqrt(448.0);
    CHECK(std::fabs(static_cast<double>(got.first[i]) - wanted) <= 1e-6 * std::fabs(wanted));
  }
}

TEST_CASE("LearnedStepPlus: gradients agree with differences of the smooth function") {
  check_plus(tq::PerTensor{}, {6, 64}, 11);
  check_plus(tq::PerChannel<0>{}, {6, 64}, 12);
  check_plus(tq::PerGroup<16>{}, {6, 64}, 13);
}

TEST_CASE(
    "LearnedStepPlus: at the ends of the codes the offset passes everything, the input nothing") {
  // Scale 1/2, codes 0 to 15, code 0 belongs to -1: the zero point is 2, the last code is 6.5.
  using L = Layer<tq::LearnedStepPlus<>, tq::PerChannel<0>, tq::uint4, tq::Asymmetric>;
  const std::vector<float> x{-1.0f, -0.99f, 6.5f, 6.49f, 0.25f, -3.0f, 9.0f, inf, -inf, nan_value};
  auto layer = repeated<L>(x.size(), 0.5f, 2, 0.5f, -1.0f);
  const Single got = single(layer, x, 2.0f);
  CHECK(got.gx == std::vector<float>{0, 2, 0, 2, 2, 0, 0, 0, 0, 0});
  const double factor = 1 / std::sqrt(15.0);
  const std::vector<double> scale{0, -0.02, 15, 0.02, -0.5, 0, 15, 15, 0, 0},
      offset{1, 0, 1, 0, 0, 1, 1, 1, 1, 0};
  for (std::size_t i = 0; i < x.size(); ++i) {
    INFO("x " << x[i]);
    CHECK(std::fabs(static_cast<double>(got.first[i]) - 2 * factor * scale[i]) <= 2e-6);
    CHECK(std::fabs(static_cast<double>(got.second[i]) - 2 * factor * offset[i]) <= 1e-6);
  }
}

TEST_CASE("LearnedStepPlus: quantizes with the nearest offset at which 0 has a code") {
  using G = tq::LearnedStepPlus<>;
  const tq::kernels::Bounds b{-8, 7};
  CHECK(G::affine({0.5f, -1.0f}, b) == tq::Affine{0.5f, 2});
  CHECK(G::affine({0.5f, -1.2f}, b) == tq::Affine{0.5f, 2});
  CHECK(G::affine({0.5f, -1.3f}, b) == tq::Affine{0.5f, 3});
  CHECK(G::affine({0.5f, 100.0f}, b) == tq::Affine{0.5f, -8});
  CHECK(G::affine({0x1p-126f, -3e38f}, b).zero_point == 7);
  const tq::Learned start = G::start({0.5f, 3}, b);
  CHECK(start.first == 0.5f);
  CHECK(start.second == -1.5f);
}

TEST_CASE("LearnedStepCalibrator: the scale is 2 mean|x| / sqrt(Q_P)") {
  using L = tq::FakeQuantize<tq::QuantParams<tq::int4, tq::PerChannel<0>, tq::Symmetric>,
                             tq::MeanAbs, tq::LearnedStep<>, tq::LearnedStepCalibrator>;
  L layer;
  const std::vector<float> x{1, -3, 2, 0.5f, 0.5f, -0.5f};
  std::vector<float> y(6);
  layer.forward(tq::ConstTensorView(x.data(), {2, 3}), y);
  CHECK(std::fabs(static_cast<double>(layer.params().scales()[0]) - 2 * 2.0 / std::sqrt(7.0)) <
        1e-6);
  CHECK(std::fabs(static_cast<double>(layer.params().scales()[1]) - 2 * 0.5 / std::sqrt(7.0)) <
        1e-6);
  CHECK(layer.learned()[0] == layer.params().scales()[0]);
  using Unsigned = tq::QuantParams<tq::uint8, tq::PerTensor, tq::Symmetric>;
  tq::MeanAbs seen;
  seen.add(std::vector<float>{1.0f, 3.0f});
  const tq::Range r = tq::LearnedStepCalibrator{}.range<Unsigned, tq::numerics::onnx>(seen);
  CHECK(std::fabs(static_cast<double>(r.max) / 255 - 2 * 2.0 / std::sqrt(255.0)) < 1e-6);
}

TEST_CASE("LearnedStepPlusCalibrator: three deviations around the mean, to the further side") {
  using Params = tq::QuantParams<tq::int8, tq::PerTensor, tq::Asymmetric>;
  tq::MeanStd seen;
  seen.add(std::vector<float>{-3.0f, 1.0f, -3.0f, 1.0f});  // mean -1, deviation 2
  const tq::Range r = tq::LearnedStepPlusCalibrator{}.range<Params, tq::numerics::onnx>(seen);
  CHECK(std::fabs(r.max - 7.0f) < 1e-6f);
  CHECK(r.min == -r.max);
}

namespace {
template <class Params, class Acc, class G, class C>
void check_overflow() {
  constexpr float most = std::numeric_limits<float>::max();
  tq::FakeQuantize<Params, Acc, G, C> layer;
  const std::vector<float> x{most, -most, most, -most, 1.0f, 0.0f};
  std::vector<float> y(x.size());
  const auto is_sound = [&] {
    layer.forward(x, y);
    INFO(Params::type::name << " " << G::name << ": scale " << layer.params().scales()[0]);
    for (const float v : y) CHECK(std::isfinite(v));
    CHECK(std::fabs(y[0]) > most / 8);  // and not what the scale 1 would make of it
    CHECK(y[5] == 0.0f);
  };
  is_sound();
  // However far an optimiser goes.
  layer.update([](std::span<float> values, std::span<const float>) {
    for (float& v : values) v = std::fabs(v) < 200 ? 1000.0f : 1e38f;
  });
  is_sound();
}
}  // namespace

TEST_CASE("a learned step whose range overflows is the largest with finite codes, not 1") {
  using namespace tq;
  using Int8 = QuantParams<int8, PerTensor, Symmetric>;
  check_overflow<Int8, MeanAbs, LearnedStep<>, LearnedStepCalibrator>();
  check_overflow<Int8, MeanAbs, LearnedStep<LogScale>, LearnedStepCalibrator>();
  check_overflow<QuantParams<int4, PerTensor, SymmetricNarrow>, MinMax, LearnedStep<>,
                 MinMaxCalibrator>();
  check_overflow<QuantParams<uint8, PerTensor, Asymmetric>, MeanStd, LearnedStepPlus<>,
                 LearnedStepPlusCalibrator>();
  FakeQuantize<Int8, MeanAbs, LearnedStep<>, LearnedStepCalibrator> layer;
  const std::vector<float> x{-std::numeric_limits<float>::max()};
  std::vector<float> y(1);
  layer.forward(x, y);
  CHECK(layer.params().scales()[0] ==
        0x1.fffffep120f);  // the float after it is 2^121, and -128 * 2^121 is beyond float32
}

// SPDX-License-Identifier: MIT
#include <tq/core/codebook.hpp>
#include <tq/core/float_elements.hpp>
#include <tq/train/dorefa.hpp>
#include <tq/train/ewgs.hpp>
#include <tq/train/fake_quantize.hpp>
#include <tq/train/gradient.hpp>
#include <tq/train/learned_affine.hpp>
#include <tq/train/learned_step.hpp>
#include <tq/train/log2_threshold.hpp>
#include <tq/train/pact.hpp>
#include <tq/train/straight_through.hpp>

#include <string_view>
#include <vector>

#include "support/catch.hpp"

namespace {

using namespace tq;

template <class Type, class Symmetry = Symmetric, class Scale = float>
using Params = QuantParams<Type, PerChannel<0>, Symmetry, Scale>;

template <class G>
constexpr bool only_passes = GradientPolicy<G> && !LearningGradient<G> && !TransformingGradient<G>;
template <class G>
constexpr bool only_learns = LearningGradient<G> && !TransformingGradient<G>;

static_assert(only_passes<StraightThrough> && only_passes<ClippedStraightThrough> &&
              only_passes<StrictStraightThrough>);
static_assert(only_passes<Ewgs<StraightThrough>> && only_learns<Ewgs<LearnedStep<>>>);
static_assert(only_learns<LearnedStep<>> && only_learns<LearnedStep<LogScale>>);
static_assert(only_learns<LearnedStepPlus<>> && only_learns<LearnedStepPlus<LogScale>>);
static_assert(only_learns<LearnedAffine<>> && only_learns<LearnedAffine<LogScale>>);
static_assert(only_learns<Pact<>> && only_learns<Pact<LogScale>> && only_learns<Log2Threshold>);
static_assert(TransformingGradient<DoReFa> && !LearningGradient<DoReFa>);

// Policies that learn an offset need zero points, policies that learn a scale alone must have none,
// and both need float32 scales.
template <class G>
constexpr bool without_zero_point =
    GradientFor<G, Params<int4>> && GradientFor<G, Params<int8, SymmetricNarrow>> &&
    !GradientFor<G, Params<int8, Asymmetric>> && !GradientFor<G, Params<int8, SymmetricHalf>> &&
    !GradientFor<G, Params<int4, Symmetric, float16>> &&
    !GradientFor<G, Params<int4, Symmetric, float8_e8m0fnu>>;
template <class G>
constexpr bool with_zero_point =
    GradientFor<G, Params<int4, Asymmetric>> && GradientFor<G, Params<uint8, SymmetricHalf>> &&
    !GradientFor<G, Params<int4>> && !GradientFor<G, Params<float8_e4m3fn>> &&
    !GradientFor<G, Params<int4, Asymmetric, float16>>;
template <class G>
constexpr bool everywhere =
    GradientFor<G, Params<int4>> && GradientFor<G, Params<uint8, Asymmetric>> &&
    GradientFor<G, Params<float8_e4m3fn>> && GradientFor<G, Params<nf4>> &&
    GradientFor<G, Params<int8, Symmetric, float16>> &&
    GradientFor<G, Params<float4_e2m1fn, Symmetric, float8_e8m0fnu>>;

static_assert(everywhere<StraightThrough> && everywhere<ClippedStraightThrough> &&
              everywhere<StrictStraightThrough> && everywhere<Ewgs<ClippedStraightThrough>>);
static_assert(without_zero_point<LearnedStep<>> && without_zero_point<LearnedStep<LogScale>> &&
              without_zero_point<Ewgs<LearnedStep<>>> && without_zero_point<Log2Threshold> &&
              without_zero_point<DoReFa>);
static_assert(GradientFor<LearnedStep<>, Params<float8_e4m3fn>> &&
              GradientFor<LearnedStep<>, Params<nf4>> && GradientFor<LearnedStep<>, Params<uint8>>);
static_assert(with_zero_point<LearnedStepPlus<>> && with_zero_point<LearnedAffine<>> &&
              with_zero_point<LearnedAffine<LogScale>>);
static_assert(!GradientFor<Log2Threshold, Params<float8_e4m3fn>> &&
              !GradientFor<Log2Threshold, Params<nf4>>);
static_assert(GradientFor<Pact<>, Params<uint4>> && GradientFor<Pact<>, Params<uint8>> &&
              !GradientFor<Pact<>, Params<int4>> &&
              !GradientFor<Pact<>, Params<uint4, Asymmetric>> &&
              !GradientFor<Pact<>, Params<float8_e4m3fn>> &&
              !GradientFor<Pact<>, Params<uint4, Symmetric, float16>>);
static_assert(GradientFor<DoReFa, Params<uint4>> && GradientFor<DoReFa, Params<nf4>>);

// The smallest gradient, as its concept shows it.
struct Halved {
  static constexpr std::string_view name = "halved";
  static constexpr int learned = 0;
  template <class Point>
  static auto input(const Point& p) {
    return p.upstream * 0.5f;
  }
};
static_assert(only_passes<Halved> && everywhere<Halved>);

// Near misses.
struct WithState : Halved {
  float factor = 0.5f;
};
struct WithoutInput {
  static constexpr std::string_view name = "without_input";
  static constexpr int learned = 0;
};
struct LearnsThree : Halved {
  static constexpr int learned = 3;
};
struct LearnsWithoutStart : Halved {
  static constexpr int learned = 1;
};
static_assert(!GradientPolicy<WithState> && !GradientPolicy<WithoutInput> &&
              !GradientPolicy<LearnsThree> && !GradientPolicy<int>);
static_assert(GradientPolicy<LearnsWithoutStart> && !LearningGradient<LearnsWithoutStart> &&
              !GradientFor<LearnsWithoutStart, Params<int4>>);

// One that learns, of the user's own: a gain on the scale, in units of the calibrated one that it
// keeps.
struct Gain {
  static constexpr std::string_view name = "gain";
  static constexpr int learned = 1;
  template <AnyParams P>
  static constexpr bool allows = IntegerParams<P>;
  template <class Point>
  static auto input(const Point& p) {
    return p.unless_clipped(p.upstream);
  }
  template <class Point>
  static auto scale(const Point& p) {
    return p.code;
  }
  static Learned start(Affine a, kernels::Bounds) { return {a.scale, 0}; }
  static Affine affine(Learned l, kernels::Bounds) { return {l.first, 0}; }
  static Learned gradient(Learned, kernels::Bounds, SlotSums s, std::size_t n) {
    return {static_cast<float>(s.scale / static_cast<double>(n)), 0};
  }
  static Learned keep(Learned before, Learned after, kernels::Bounds) {
    return after.first > 0 ? after : before;
  }
};
static_assert(only_learns<Gain> && GradientFor<Gain, Params<int4>> &&
              !GradientFor<Gain, Params<float8_e4m3fn>>);

}  // namespace

TEST_CASE("a gradient of one's own is one stateless struct") {
  FakeQuantize<QuantParams<int8, PerTensor, Asymmetric>, MinMax, Halved> layer;
  std::vector<float> x(77), gy(77), y(77), gx(77);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = 0.1f * static_cast<float>(i) - 3;
    gy[i] = static_cast<float>(i) - 30;
  }
  layer.forward(x, y);
  CHECK(y == fake_quantize(x, layer.params()));
  CHECK(layer.backward(x, gy, gx).empty());
  for (std::size_t i = 0; i < x.size(); ++i) CHECK(gx[i] == gy[i] / 2);
}

TEST_CASE("a gradient of one's own may learn") {
  FakeQuantize<QuantParams<int8, PerChannel<0>, Symmetric>, MinMax, Gain> layer;
  const Shape shape{2, 3};
  const std::vector<float> x{-127, 2, 3, 254, 20, -60}, gy{1, 2, 4, 8, 16, 32};
  std::vector<float> y(6), gx(6);
  const ConstTensorView view(x.data(), shape);
  layer.forward(view, y);
  const auto g = layer.backward(view, gy, gx);
  REQUIRE(g.size() == 2);
  CHECK(g[0] == static_cast<float>((-127 + 4 + 12) / 3.0));
  CHECK(g[1] == static_cast<float>((127 * 8 + 160 - 30 * 32) / 3.0));
  CHECK(gx == gy);
  layer.update([](std::span<float> v, std::span<const float>) {
    v[0] = 0.5f;
    v[1] = -1.0f;  // kept from it
  });
  CHECK(layer.params().scales()[0] == 0.5f);
  CHECK(layer.params().scales()[1] == 2.0f);
  layer.backward(view, gy, gx);
  CHECK(gx == std::vector<float>{0, 2, 4, 8, 16, 32});
}

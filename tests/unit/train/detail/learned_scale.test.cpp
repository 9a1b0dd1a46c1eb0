// SPDX-License-Identifier: MIT
#include <tq/train/detail/learned_scale.hpp>
#include <tq/train/fake_quantize.hpp>
#include <tq/train/learned_affine.hpp>
#include <tq/train/learned_step.hpp>
#include <tq/train/log2_threshold.hpp>
#include <tq/train/pact.hpp>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"

namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();
constexpr float largest = std::numeric_limits<float>::max();

static_assert(tq::ScaleParameter<tq::GuardedScale> && tq::ScaleParameter<tq::LogScale>);

// A scale that every operation can divide by and multiply with.
bool usable(float s) {
  return s >= std::numeric_limits<float>::min() && s <= largest && 1.0f / s <= largest &&
         1.0f / s > 0.0f;
}

template <class Type, class Symmetry, class G>
using Layer = tq::FakeQuantize<tq::QuantParams<Type, tq::PerChannel<0>, Symmetry>, tq::MinMax, G>;

template <class L>
bool all_usable(const L& layer) {
  for (const float s : layer.params().scales())
    if (!usable(s)) return false;
  return true;
}

// 10,000 steps of an optimiser that means ill, in every slot another way.
template <class L>
void attack(std::uint64_t seed) {
  constexpr std::size_t slots = 6;
  inputs::Random r(seed);
  L layer;
  std::vector<float> x(slots * 4), y(x.size());
  for (float& v : x) v = static_cast<float>(std::fabs(r.normal()));
  const tq::ConstTensorView view(x.data(), tq::Shape{slots, 4});
  layer.forward(view, y);
  REQUIRE(all_usable(layer));
  std::size_t refused = 0, unusable = 0, changed_by_refusal = 0, moved = 0;
  for (std::size_t step = 0; step < 10000; ++step) {
    const auto before_params = layer.params();
    const std::vector<float> before(layer.learned().begin(), layer.learned().end());
    const bool poison = step % 10 == 9;
    bool finite = true;
    try {
      layer.update([&](std::span<float> values, std::span<const float> gradients) {
        CHECK_FALSE(gradients.size() != values.size());
        for (std::size_t i = 0; i < values.size(); ++i) {
          float& v = values[i];
          const float sign = step % 2 == 0 ? 1.0f : -1.0f;
          switch (i % slots) {
            case 0: v = v < 0 ? std::fmax(v - 1e38f, -largest) : v - 1e38f; break;  // always down
            case 1: v = v > 0 ? std::fmin(v + 3e37f, largest) : v + 3e37f; break;   // always up
            case 2: v = sign * largest; break;  // from end to end
            case 3:
              v = static_cast<float>(std::ldexp(r.normal(), r.between(-140, 120)));
              break;  // anything
            case 4: v = -v; break;
            default: v *= step % 5000 < 2500 ? 0.5f : 2.0f; break;  // slowly to 0 and back
          }
          if (!std::isfinite(v)) v = sign * largest;
        }
        if (poison) {
          const float bad[] = {nan_value, inf, -inf};
          values[r.below(values.size())] = bad[step / 10 % 3];
          finite = false;
        }
      });
    } catch (const tq::error& e) {
      CHECK(e.code() == tq::errc::not_finite);
      ++refused;
      changed_by_refusal += !(layer.params() == before_params);
      for (std::size_t i = 0; i < before.size(); ++i)
        changed_by_refusal += std::bit_cast<std::uint32_t>(layer.learned()[i]) !=
                              std::bit_cast<std::uint32_t>(before[i]);
      CHECK_FALSE(finite);
    }
    unusable += !all_usable(layer);
    moved += !(layer.params() == before_params);
    for (const float v : layer.learned()) unusable += !std::isfinite(v);
  }
  CHECK(refused == 1000);
  CHECK(changed_by_refusal == 0);
  CHECK(unusable == 0);
  CHECK(moved > 1000);
}

// 10,000 steps along real gradients of outputs that ask for the impossible, with a rate that is far
// too large.
template <class L>
void diverge(std::uint64_t seed) {
  constexpr std::size_t slots = 3, length = 5;
  inputs::Random r(seed);
  L layer;
  std::vector<float> x(slots * length), y(x.size()), gy(x.size()), gx(x.size());
  const tq::ConstTensorView view(x.data(), tq::Shape{slots, length});
  std::size_t refused = 0, unusable = 0;
  for (std::size_t step = 0; step < 10000; ++step) {
    for (float& v : x) v = static_cast<float>(std::ldexp(r.normal(), r.between(-4, 4)));
    const double reach = r.chance(20) ? 1e30 : r.chance(50) ? 1e3 : 1e-3;
    for (float& g : gy)
      g = static_cast<float>(reach * (step % 2 == 0 ? -1 : 1) * std::fabs(r.normal()));
    if (step % 100 == 99) gy[r.below(gy.size())] = nan_value;
    layer.forward(view, y);
    (void)layer.backward(view, gy, gx);
    try {
      layer.update([&](std::span<float> values, std::span<const float> gradients) {
        for (std::size_t i = 0; i < values.size(); ++i) values[i] -= 10 * gradients[i];
      });
    } catch (const tq::error& e) {
      CHECK(e.code() == tq::errc::not_finite);
      ++refused;
    }
    unusable += !all_usable(layer);
  }
  CHECK(refused >= 20);
  CHECK(refused < 10000);
  CHECK(unusable == 0);
}

template <template <class> class G, class Type, class Symmetry>
void both(std::uint64_t seed) {
  attack<Layer<Type, Symmetry, G<tq::GuardedScale>>>(seed);
  attack<Layer<Type, Symmetry, G<tq::LogScale>>>(seed + 1);
  diverge<Layer<Type, Symmetry, G<tq::GuardedScale>>>(seed + 2);
  diverge<Layer<Type, Symmetry, G<tq::LogScale>>>(seed + 3);
}

}  // namespace

TEST_CASE("learned scales stay positive through adversarial steps: LearnedStep") {
  both<tq::LearnedStep, tq::int4, tq::Symmetric>(1);
}
TEST_CASE("learned scales stay positive through adversarial steps: LearnedStepPlus") {
  both<tq::LearnedStepPlus, tq::int4, tq::Asymmetric>(11);
}
TEST_CASE("learned scales stay positive through adversarial steps: LearnedAffine") {
  both<tq::LearnedAffine, tq::uint8, tq::Asymmetric>(21);
}
TEST_CASE("learned scales stay positive through adversarial steps: Pact") {
  both<tq::Pact, tq::uint4, tq::Symmetric>(31);
}
TEST_CASE("learned scales stay positive through adversarial steps: Log2Threshold") {
  attack<Layer<tq::int8, tq::Symmetric, tq::Log2Threshold>>(41);
  diverge<Layer<tq::int8, tq::Symmetric, tq::Log2Threshold>>(42);
}

TEST_CASE("GuardedScale: a step takes at most half away, and ends where reciprocals do") {
  using S = tq::GuardedScale;
  CHECK(S::keep(1.0f, 0.9f) == 0.9f);
  CHECK(S::keep(1.0f, 0.5f) == 0.5f);
  CHECK(S::keep(1.0f, 0.4f) == 0.5f);
  CHECK(S::keep(1.0f, -1e30f) == 0.5f);
  CHECK(S::keep(1.0f, 0.0f) == 0.5f);
  CHECK(S::keep(1.0f, 1e30f) == 1e30f);
  CHECK(S::keep(1.0f, largest) == 0x1p126f);
  CHECK(S::keep(0x1p126f, -1.0f) == 0x1p125f);
  CHECK(S::keep(0x1p-126f, -1.0f) == 0x1p-126f);
  CHECK(S::scale(S::parameter(0.37f)) == 0.37f);
  CHECK(S::slope(0.37f) == 1.0f);
}

TEST_CASE("LogScale: the scale is two to the parameter") {
  using S = tq::LogScale;
  CHECK(S::parameter(8.0f) == 3.0f);
  CHECK(S::scale(3.0f) == 8.0f);
  CHECK(S::keep(0.0f, -200.0f) == -126.0f);
  CHECK(S::keep(0.0f, 200.0f) == 126.0f);
  CHECK(S::keep(0.0f, 1.5f) == 1.5f);
  CHECK(S::scale(-200.0f) == 0x1p-126f);
  CHECK(S::scale(200.0f) == 0x1p126f);
  for (const float s : {1e-30f, 0.001f, 0.37f, 1.0f, 77.0f, 1e30f}) {
    CHECK(std::fabs(S::scale(S::parameter(s)) - s) <= 2e-5f * s);
    const double h = 1e-5, log = std::log2(static_cast<double>(s));
    const double slope = (std::exp2(log + h) - std::exp2(log - h)) / (2 * h);
    CHECK(std::fabs(static_cast<double>(S::slope(s)) - slope) <= 1e-5 * slope);
  }
}

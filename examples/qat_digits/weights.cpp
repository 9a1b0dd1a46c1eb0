// SPDX-License-Identifier: MIT
#include "schemes.hpp"

#include <tq/calibrate/mean_abs.hpp>
#include <tq/train/ewgs.hpp>
#include <tq/train/learned_affine.hpp>
#include <tq/train/learned_step.hpp>
#include <tq/train/log2_threshold.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

namespace {

template <class Type, class Symmetry>
using Params = tq::QuantParams<Type, tq::PerChannel<0>, Symmetry>;

// Binary and ternary codes reach the mean magnitude, more codes a multiple of it: all policies
// start from there, and those that learn nothing are there at every step.
template <class Type>
using Start = std::conditional_t<(Type::bits > 2 || std::same_as<Type, tq::int2>),
                                 tq::LearnedStepCalibrator, tq::MeanAbsCalibrator>;

// Learning rates of what is learned, relative to that of the weights.
template <class Gradient>
inline constexpr float rate = 1;
template <>
inline constexpr float rate<tq::LearnedAffine<>> = 0.02f;
template <>
inline constexpr float rate<tq::Log2Threshold> = 0.3f;

// DoReFa's weights lie in [-1, 1], for the batch norm that follows. These networks have none, so
// every channel keeps the magnitude that it started with.
template <class Layer>
class Restored : public QuantizerOf<Layer, Follows::step> {
  using Base = QuantizerOf<Layer, Follows::step>;

 public:
  using Base::Base;
  void forward(tq::ConstTensorView x, tq::TensorView<float> y) override {
    if (magnitudes_.empty())
      for_each_channel(x, [&](std::size_t, std::span<const float> channel) {
        float most = 0;
        for (const float v : channel) most = std::max(most, std::abs(v));
        magnitudes_.push_back(most);
      });
    Base::forward(x, y);
    restore(y);
  }
  void forward(tq::ConstTensorView x, tq::TensorView<float> y) const override {
    Base::forward(x, y);
    restore(y);
  }
  void backward(tq::ConstTensorView x, tq::ConstTensorView gy, tq::TensorView<float> gx) override {
    std::copy_n(gy.data(), gy.size(), gx.data());
    restore(gx);
    Base::backward(x, gx, gx);
  }

 private:
  template <class T, class F>
  static void for_each_channel(tq::TensorView<T> x, F&& f) {
    const std::size_t length = x.size() / x.shape()[0];
    for (std::size_t i = 0; i < x.shape()[0]; ++i) f(i, x.flat().subspan(i * length, length));
  }
  void restore(tq::TensorView<float> y) const {
    for_each_channel(y, [&](std::size_t i, std::span<float> channel) {
      for (float& v : channel) v *= magnitudes_[i];
    });
  }

  std::vector<float> magnitudes_;
};

template <class Type, class Gradient>
struct Of {
  using type =
      QuantizerOf<tq::FakeQuantize<Params<Type, tq::Symmetric>, tq::MeanAbs, Gradient, Start<Type>>,
                  Follows::step>;
};
template <class Type>
struct Of<Type, tq::LearnedAffine<>> {
  using type =
      QuantizerOf<tq::FakeQuantize<Params<Type, tq::Asymmetric>, tq::MinMax, tq::LearnedAffine<>>,
                  Follows::step>;
};
template <class Type>
struct Of<Type, tq::DoReFa> {
  using type = Restored<tq::FakeQuantize<Params<Type, tq::Symmetric>, tq::MinMax, tq::DoReFa>>;
};

}  // namespace

template <class Type, class Gradient>
std::unique_ptr<Quantizer> weights() {
  return std::make_unique<typename Of<Type, Gradient>::type>(rate<Gradient>);
}

#define TQ_WEIGHTS(Type, ...) template std::unique_ptr<Quantizer> weights<Type, __VA_ARGS__>()
TQ_WEIGHTS(tq::int8, tq::ClippedStraightThrough);
TQ_WEIGHTS(tq::int8, tq::LearnedStep<>);
TQ_WEIGHTS(tq::int8, tq::Log2Threshold);
TQ_WEIGHTS(tq::int4, tq::StraightThrough);
TQ_WEIGHTS(tq::int4, tq::ClippedStraightThrough);
TQ_WEIGHTS(tq::int4, tq::LearnedStep<>);
TQ_WEIGHTS(tq::int4, tq::Ewgs<tq::LearnedStep<>>);
TQ_WEIGHTS(tq::int4, tq::Log2Threshold);
TQ_WEIGHTS(tq::int4, tq::LearnedAffine<>);
TQ_WEIGHTS(tq::int4, tq::DoReFa);
TQ_WEIGHTS(tq::int3, tq::ClippedStraightThrough);
TQ_WEIGHTS(tq::int3, tq::LearnedStep<>);
TQ_WEIGHTS(tq::int2, tq::StraightThrough);
TQ_WEIGHTS(tq::int2, tq::ClippedStraightThrough);
TQ_WEIGHTS(tq::int2, tq::LearnedStep<>);
TQ_WEIGHTS(tq::int2, tq::Ewgs<tq::LearnedStep<>>);
TQ_WEIGHTS(tq::int2, tq::Log2Threshold);
TQ_WEIGHTS(tq::int2, tq::DoReFa);
TQ_WEIGHTS(tq::ternary, tq::StraightThrough);
TQ_WEIGHTS(tq::ternary, tq::LearnedStep<>);
TQ_WEIGHTS(tq::binary, tq::StraightThrough);
TQ_WEIGHTS(tq::binary, tq::LearnedStep<>);
TQ_WEIGHTS(tq::binary, tq::Ewgs<tq::LearnedStep<>>);
#undef TQ_WEIGHTS

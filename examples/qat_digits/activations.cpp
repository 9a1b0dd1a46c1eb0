// SPDX-License-Identifier: MIT
#include "schemes.hpp"

#include <tq/observe/mean_abs.hpp>
#include <tq/observe/moving_average.hpp>
#include <tq/train/ewgs.hpp>
#include <tq/train/learned_affine.hpp>
#include <tq/train/learned_step.hpp>
#include <tq/train/log2_threshold.hpp>
#include <tq/train/pact.hpp>

namespace {

template <class Type, class Symmetry>
using Params = tq::QuantParams<Type, tq::PerTensor, Symmetry>;

// Policies that learn nothing average the ranges of batches.
template <class Type, class Gradient>
struct Of {
  using type = tq::FakeQuantize<Params<Type, tq::Symmetric>, tq::MovingAverageMinMax, Gradient>;
};
// Policies that learn start from the first batch: from its mean, or from its range.
template <class Type, class Gradient>
struct FromMean {
  using type = tq::FakeQuantize<Params<Type, tq::Symmetric>, tq::MeanAbs, Gradient,
                                tq::LearnedStepCalibrator>;
};
template <class Type, class Symmetry, class Gradient>
struct FromRange {
  using type = tq::FakeQuantize<Params<Type, Symmetry>, tq::MinMax, Gradient>;
};
template <class Type>
struct Of<Type, tq::LearnedStep<>> : FromMean<Type, tq::LearnedStep<>> {};
template <class Type>
struct Of<Type, tq::Ewgs<tq::LearnedStep<>>> : FromMean<Type, tq::Ewgs<tq::LearnedStep<>>> {};
template <class Type>
struct Of<Type, tq::LearnedStepPlus<>> : FromRange<Type, tq::Asymmetric, tq::LearnedStepPlus<>> {};
template <class Type>
struct Of<Type, tq::LearnedAffine<>> : FromRange<Type, tq::Asymmetric, tq::LearnedAffine<>> {};
template <class Type>
struct Of<Type, tq::Log2Threshold> : FromRange<Type, tq::Symmetric, tq::Log2Threshold> {};
template <class Type>
struct Of<Type, tq::Pact<>> : FromRange<Type, tq::Symmetric, tq::Pact<>> {};

// Learning rates of what is learned, relative to that of the weights, and weight decay.
template <class Gradient>
inline constexpr float rate = 1;
template <class Gradient>
inline constexpr float decay = 0;
template <>
inline constexpr float rate<tq::LearnedAffine<>> = 0.0002f;
template <>
inline constexpr float rate<tq::Pact<>> = 0.1f;
template <>
inline constexpr float decay<tq::Pact<>> = 1e-3f;

}  // namespace

template <class Type, class Gradient>
std::unique_ptr<Quantizer> activations() {
  return std::make_unique<QuantizerOf<typename Of<Type, Gradient>::type, Follows::batches>>(
      rate<Gradient>, decay<Gradient>);
}

#define TQ_ACTIVATIONS(Type, ...) \
  template std::unique_ptr<Quantizer> activations<Type, __VA_ARGS__>()
TQ_ACTIVATIONS(tq::uint8, tq::ClippedStraightThrough);
TQ_ACTIVATIONS(tq::uint8, tq::LearnedStep<>);
TQ_ACTIVATIONS(tq::uint8, tq::Log2Threshold);
TQ_ACTIVATIONS(tq::int8, tq::LearnedStepPlus<>);
TQ_ACTIVATIONS(tq::uint4, tq::ClippedStraightThrough);
TQ_ACTIVATIONS(tq::uint4, tq::LearnedStep<>);
TQ_ACTIVATIONS(tq::uint4, tq::Ewgs<tq::LearnedStep<>>);
TQ_ACTIVATIONS(tq::uint4, tq::Log2Threshold);
TQ_ACTIVATIONS(tq::uint4, tq::Pact<>);
TQ_ACTIVATIONS(tq::int4, tq::LearnedStepPlus<>);
TQ_ACTIVATIONS(tq::int4, tq::LearnedAffine<>);
#undef TQ_ACTIVATIONS

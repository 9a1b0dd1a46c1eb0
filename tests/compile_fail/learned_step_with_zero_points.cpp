// expect: one error: tq::FakeQuantize: this gradient learns a scale alone: take a symmetric scheme
// SPDX-License-Identifier: MIT
#include <tq/train/fake_quantize.hpp>
#include <tq/train/learned_step.hpp>

using Params = tq::QuantParams<tq::int8, tq::PerTensor, tq::Asymmetric>;
tq::FakeQuantize<Params, tq::MinMax, tq::LearnedStep<>> layer;

// expect: one error: tq::FakeQuantize: the scheme has no such gradient
// SPDX-License-Identifier: MIT
#include <tq/train/fake_quantize.hpp>
#include <tq/train/learned_step.hpp>

using Params = tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>;
tq::FakeQuantize<Params, tq::MinMax, tq::LearnedStepPlus<>> layer;

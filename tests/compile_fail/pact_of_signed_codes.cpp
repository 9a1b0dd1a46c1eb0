// expect: one error: tq::FakeQuantize: the scheme has no such gradient
// SPDX-License-Identifier: MIT
#include <tq/train/fake_quantize.hpp>
#include <tq/train/pact.hpp>

using Params = tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>;
tq::FakeQuantize<Params, tq::MinMax, tq::Pact<>> layer;

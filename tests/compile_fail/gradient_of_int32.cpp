// expect: one error: tq::FakeQuantize: the scheme has no such gradient
// SPDX-License-Identifier: MIT
#include <tq/train/fake_quantize.hpp>

using Params = tq::QuantParams<tq::int32, tq::PerTensor, tq::Symmetric>;
tq::FakeQuantize<Params> layer;

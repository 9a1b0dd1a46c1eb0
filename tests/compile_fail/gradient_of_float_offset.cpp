// expect: one error: tq::FakeQuantize: the scheme has no such gradient
// SPDX-License-Identifier: MIT
#include <tq/train/fake_quantize.hpp>

using Params = tq::QuantParams<tq::uint4, tq::PerTensor, tq::FloatOffset>;
tq::FakeQuantize<Params> layer;

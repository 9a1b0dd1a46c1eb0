// expect: no matching function|constraints not satisfied
// SPDX-License-Identifier: MIT
#include <tq/core/quant_params.hpp>

using Params = tq::QuantParams<tq::uint4, tq::PerTensor, tq::FloatOffset>;
Params params(0.5f);

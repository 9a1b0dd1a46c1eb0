// expect: ScaleTypeFor
// SPDX-License-Identifier: MIT
#include <tq/core/quant_params.hpp>

using Params = tq::QuantParams<tq::uint4, tq::PerGroup<32>, tq::FloatOffset, tq::DoubleQuantized>;
Params* params;

// expect: SymmetryFor
// SPDX-License-Identifier: MIT
#include <tq/core/quant_params.hpp>

using Params = tq::QuantParams<tq::int32, tq::PerTensor, tq::FloatOffset>;
Params* params;

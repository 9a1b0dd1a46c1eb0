// expect: one error: tq::QuantParams: this scheme needs an offset beside the scale
// SPDX-License-Identifier: MIT
#include <tq/core/quant_params.hpp>

using O8 = tq::QuantParams<tq::uint8, tq::PerTensor, tq::FloatOffset>;
O8 params{0.1f};

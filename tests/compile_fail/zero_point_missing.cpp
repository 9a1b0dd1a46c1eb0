// expect: one error: tq::QuantParams: an asymmetric scheme needs a zero point beside the scale
// SPDX-License-Identifier: MIT
#include <tq/core/quant_params.hpp>

using A8 = tq::QuantParams<tq::uint8, tq::PerTensor, tq::Asymmetric>;
A8 params{0.1f};

// expect: one error: tq::QuantParams: a symmetric scheme has a scale alone
// SPDX-License-Identifier: MIT
#include <tq/core/quant_params.hpp>

tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric> params(1.0f, 3);

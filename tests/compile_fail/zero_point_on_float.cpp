// expect: constraint
// SPDX-License-Identifier: MIT
#include <tq/core/formats.hpp>

using Fp8 = tq::QuantParams<tq::float8_e4m3fn, tq::PerTensor, tq::Asymmetric>;

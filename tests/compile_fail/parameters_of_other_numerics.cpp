// expect: one error: these parameters were made for other numerics: use auto
// SPDX-License-Identifier: MIT
#include <tq/calibrate/calibrate.hpp>

#include <vector>

using W8 = tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>;
W8 f(const std::vector<float>& x) { return tq::calibrate<W8>(x, tq::numerics::torch{}); }

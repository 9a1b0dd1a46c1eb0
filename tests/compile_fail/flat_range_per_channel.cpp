// expect: one error: a flat range has one axis, and this scheme would give each value its own scale
// SPDX-License-Identifier: MIT
#include <tq/calibrate/calibrate.hpp>

#include <vector>

using W8 = tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::Symmetric>;
auto f(const std::vector<float>& weights) { return tq::calibrate<W8>(weights); }

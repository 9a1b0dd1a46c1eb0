// expect: one error: these parameters were made for numerics that have a seed or another state
// SPDX-License-Identifier: MIT
#include <tq/core/quant_params.hpp>  // first: it has the assertion

#include <tq/calibrate/calibrate.hpp>
#include <tq/ops/quantize.hpp>

#include <vector>

using W8 = tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>;
auto f(const std::vector<float>& x) {
  const tq::Numerics<tq::Stochastic> drawn{tq::Stochastic{7}};
  return tq::quantize(x, tq::calibrate<W8>(x, drawn));
}

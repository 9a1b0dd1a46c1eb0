// expect: one error: tq: two options of one kind
// SPDX-License-Identifier: MIT
#include <tq/ops/quantize.hpp>

#include <vector>

using W8 = tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>;
auto f(const std::vector<float>& x, const W8& p) {
  return tq::quantize(x, p, tq::serial, tq::serial);
}

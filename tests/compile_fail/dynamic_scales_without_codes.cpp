// expect: one error: tq::quantize_dynamic: say where the codes go
// SPDX-License-Identifier: MIT
#include <tq/ops/quantize_dynamic.hpp>

#include <vector>

using D8 = tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>;
void f(const std::vector<float>& x, std::vector<float>& scales) {
  tq::quantize_dynamic<D8>(x, {.scales = scales});
}

// expect: one error: .codes is a tensor of the scheme's code_type
// SPDX-License-Identifier: MIT
#include <tq/ops/quantize_dynamic.hpp>

#include <vector>

using D8 = tq::QuantParams<tq::int8, tq::PerToken, tq::Symmetric>;
void f(tq::ConstTensorView x, std::vector<float>& codes, std::vector<float>& scales) {
  tq::quantize_dynamic<D8>(x, {.codes = codes, .scales = scales});
}

// expect: one error: the codes are packed, several in a byte: take bytes\(\), or tq::unpack\(q\)
// SPDX-License-Identifier: MIT
#include <tq/core/quantized_tensor.hpp>

using W4 = tq::QuantParams<tq::int4, tq::PerTensor, tq::Symmetric>;
auto f(const tq::QuantizedTensor<W4>& q) { return q.codes(); }

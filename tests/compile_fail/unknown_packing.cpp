// expect: Packing
// SPDX-License-Identifier: MIT
#include <tq/core/quantized_tensor.hpp>

struct MiddleFirst {};
using Params = tq::QuantParams<tq::int4, tq::PerTensor, tq::Symmetric>;
using Tensor = tq::QuantizedTensor<Params, MiddleFirst>;
Tensor* tensor;

// expect: PackingFor
// SPDX-License-Identifier: MIT
#include <tq/core/quantized_tensor.hpp>

using Params = tq::QuantParams<tq::int2, tq::PerTensor, tq::Symmetric>;
using Tensor = tq::QuantizedTensor<Params, tq::FiveInByte>;
Tensor* tensor;

// SPDX-License-Identifier: MIT
#pragma once
// The block formats that have names of their own.

#include <tq/core/codebook.hpp>
#include <tq/core/float_elements.hpp>
#include <tq/core/granularity.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/core/scales.hpp>
#include <tq/core/symmetry.hpp>

namespace tq {

/// OCP Microscaling: `Type` in blocks of 32 along the last axis under a power-of-two scale. The
/// numerics' exponent rule chooses the scale (`ExponentFloor`, that of the specification, by
/// default). Source: OCP Microscaling Formats v1.0.
template <CodedElement Type>
using Microscaled = QuantParams<Type, PerGroup<32>, Symmetric, float8_e8m0fnu>;
using mxfp8_e4m3 = Microscaled<float8_e4m3fn>;
using mxfp8_e5m2 = Microscaled<float8_e5m2>;
using mxfp6_e2m3 = Microscaled<float6_e2m3fn>;
using mxfp6_e3m2 = Microscaled<float6_e3m2fn>;
using mxfp4 = Microscaled<float4_e2m1fn>;
using mxint8 = Microscaled<fixed8>;

/// NVIDIA NVFP4: FP4 in blocks of 16 under an FP8 scale each and a float32 scale of the tensor.
using nvfp4 = QuantParams<float4_e2m1fn, PerGroup<16>, Symmetric, TwoLevel<float8_e4m3fn>>;
/// As `nvfp4` with block scales that are never subnormal or zero, as torchao makes them.
using nvfp4_normal = QuantParams<float4_e2m1fn, PerGroup<16>, Symmetric,
                                 TwoLevel<float8_e4m3fn, BlockScales::normal>>;

/// NF4 in blocks of 64, as bitsandbytes has it; and with its scales quantized themselves.
using nf4_64 = QuantParams<nf4, PerGroup<64>, Symmetric>;
using nf4_64_double = QuantParams<nf4, PerGroup<64>, Symmetric, DoubleQuantized>;

}  // namespace tq

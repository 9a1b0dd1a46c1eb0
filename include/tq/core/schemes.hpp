// SPDX-License-Identifier: MIT
#pragma once
// The named schemes as types: `tq::schemes::int4_g32` is "int4_g32" of JSON and of the tool.

#include <tq/core/codebook.hpp>
#include <tq/core/element.hpp>
#include <tq/core/float_elements.hpp>
#include <tq/core/formats.hpp>
#include <tq/core/granularity.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/core/symmetry.hpp>
#include <tq/numeric/numerics.hpp>

/// Parameter types under the names that `tq::named_scheme` knows. Integers have a scale per output
/// channel (axis 0) or, ending in "_g32", per group of 32 along the last axis: int symmetric, uint
/// with zero points. The code books of bitsandbytes remember its numerics. The names "ternary" and
/// "binary" have no type here: their scales come of another calibrator than `calibrate` uses by
/// default.
namespace tq::schemes {

namespace detail {
template <class Element>
using channels = QuantParams<Element, PerChannel<0>, Symmetric>;
template <class Element, class Symmetry>
using groups = QuantParams<Element, PerGroup<32>, Symmetry>;
}  // namespace detail

/// @{ An 8-bit float with one scale.
using fp8_e4m3 = QuantParams<float8_e4m3fn, PerTensor, Symmetric>;
using fp8_e5m2 = QuantParams<float8_e5m2, PerTensor, Symmetric>;
/// @}

/// @{ An integer with a scale for each channel.
using int16 = detail::channels<tq::int16>;
using int8 = detail::channels<tq::int8>;
using int6 = detail::channels<tq::int6>;
using int5 = detail::channels<tq::int5>;
using int4 = detail::channels<tq::int4>;
using int3 = detail::channels<tq::int3>;
using int2 = detail::channels<tq::int2>;
/// @}

/// @{ An integer with a scale for each group of 32.
using int8_g32 = detail::groups<tq::int8, Symmetric>;
using int6_g32 = detail::groups<tq::int6, Symmetric>;
using int5_g32 = detail::groups<tq::int5, Symmetric>;
using int4_g32 = detail::groups<tq::int4, Symmetric>;
using int3_g32 = detail::groups<tq::int3, Symmetric>;
using int2_g32 = detail::groups<tq::int2, Symmetric>;
/// @}
/// @{ An integer with a scale and a zero point for each group of 32.
using uint8_g32 = detail::groups<tq::uint8, Asymmetric>;
using uint6_g32 = detail::groups<tq::uint6, Asymmetric>;
using uint5_g32 = detail::groups<tq::uint5, Asymmetric>;
using uint4_g32 = detail::groups<tq::uint4, Asymmetric>;
using uint3_g32 = detail::groups<tq::uint3, Asymmetric>;
using uint2_g32 = detail::groups<tq::uint2, Asymmetric>;
/// @}

using tq::mxfp4;
using tq::mxfp6_e2m3;
using tq::mxfp6_e3m2;
using tq::mxfp8_e4m3;
using tq::mxfp8_e5m2;
using tq::mxint8;
using tq::nvfp4;
using tq::nvfp4_normal;

/// @{ A code book of 4 bits with a scale for each group.
using nf4 = params_under<nf4_64, numerics::bitsandbytes>;
using nf4_double = params_under<nf4_64_double, numerics::bitsandbytes>;
using bnb_fp4 = QuantParams<tq::bnb_fp4, PerGroup<64>, Symmetric, float, numerics::bitsandbytes>;
using iq4_nl = QuantParams<tq::iq4_nl, PerGroup<32>, Symmetric, float16>;
/// @}

}  // namespace tq::schemes

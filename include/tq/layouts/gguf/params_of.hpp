// SPDX-License-Identifier: MIT
#pragma once
// params_of: the parameter types that hold blocks of GGUF files.

#include <tq/core/codebook.hpp>
#include <tq/core/element.hpp>
#include <tq/core/float_elements.hpp>
#include <tq/core/formats.hpp>
#include <tq/core/granularity.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/core/super_block_scales.hpp>
#include <tq/core/symmetry.hpp>
#include <tq/layouts/gguf/block.hpp>

namespace tq::layouts::gguf {

namespace detail {

template <class Params>
struct HeldAs {
  using type = Params;
};
// Codes as they are in blocks, under a zero point: that of the format, or its mirror image where
// the scale of the block is negative.
template <IntegerElement T, int Group, class Scale>
using HeldCodes = HeldAs<QuantParams<T, PerGroup<Group>, Asymmetric, Scale>>;
// Codes as they are, and an offset.
template <IntegerElement T, int Group, class Scale>
using HeldSteps = HeldAs<QuantParams<T, PerGroup<Group>, FloatOffset, Scale>>;
// The values that codes name, negated where the scale of the block is negative.
template <int Group, class Scale>
using HeldValues = HeldAs<QuantParams<int8, PerGroup<Group>, Symmetric, Scale>>;

template <class B>
struct ParamsOf {};

template <>
struct ParamsOf<Q4_0> : HeldCodes<uint4, 32, float16> {};
template <>
struct ParamsOf<Q5_0> : HeldCodes<uint5, 32, float16> {};
template <>
struct ParamsOf<Q8_0> : HeldCodes<uint8, 32, float16> {};
template <>
struct ParamsOf<Q2_0> : HeldCodes<uint2, 64, float16> {};
template <>
struct ParamsOf<TQ1_0> : HeldCodes<uint2, 256, float16> {};
template <>
struct ParamsOf<TQ2_0> : HeldCodes<uint2, 256, float16> {};
template <>
struct ParamsOf<Q1_0> : HeldAs<QuantParams<binary, PerGroup<128>, Symmetric, float16>> {};

template <>
struct ParamsOf<Q4_1> : HeldSteps<uint4, 32, float16> {};
template <>
struct ParamsOf<Q5_1> : HeldSteps<uint5, 32, float16> {};

template <>
struct ParamsOf<IQ4_NL> : HeldValues<32, float16> {};
template <>
struct ParamsOf<MXFP4> : HeldAs<mxfp4> {};
template <>
struct ParamsOf<NVFP4> : HeldAs<nvfp4> {};

template <>
struct ParamsOf<Q3_K> : HeldCodes<uint3, 16, SuperBlock<uint6, 16>> {};
template <>
struct ParamsOf<Q6_K> : HeldCodes<uint6, 16, SuperBlock<uint8, 16>> {};
template <>
struct ParamsOf<Q2_K> : HeldSteps<uint2, 16, SuperBlock<uint4, 16>> {};
template <>
struct ParamsOf<Q4_K> : HeldSteps<uint4, 32, SuperBlock<uint6, 8>> {};
template <>
struct ParamsOf<Q5_K> : HeldSteps<uint5, 32, SuperBlock<uint6, 8>> {};
template <>
struct ParamsOf<IQ4_XS> : HeldValues<32, SuperBlock<uint6, 8>> {};

}  // namespace detail

/// Formats whose blocks are tensors of a static type: all but Q8_1 and Q8_K, which have sums of
/// their codes beside them.
template <class B>
concept Unpackable = Block<B> && requires { typename detail::ParamsOf<B>::type; };

/// The parameters of tensors that hold blocks of `B` (`unpack`). Groups are those that share a
/// scale:
///
///     Q4_0, Q5_0, Q8_0      uint4, uint5, uint8 of 32, zero points, float16 scales
///     Q2_0, TQ1_0, TQ2_0    uint2 of 64, 256, 256, zero points, float16 scales
///     Q3_K, Q6_K            uint3, uint6 of 16, zero points, scales of uint6, uint8 under a float16
///     Q4_1, Q5_1            uint4, uint5 of 32, float16 scales and offsets
///     Q2_K                  uint2 of 16, scales and offsets of uint4 under a float16 each
///     Q4_K, Q5_K            uint4, uint5 of 32, scales and offsets of uint6 under a float16 each
///     IQ4_NL, IQ4_XS        int8 of 32, float16 scales; scales of uint6 under a float16
///     MXFP4, NVFP4, Q1_0    `mxfp4`, `nvfp4` under a tensor scale of 1, binary of 128
///
/// Scales "under a float16" are those of a super-block as it stores them: `SuperBlock<uint6, 8>` has
/// 8 of 6 bits, `SuperBlock<uint4, 16>`, `SuperBlock<uint6, 16>` and `SuperBlock<uint8, 16>` have 16.
///
/// Parameters have positive scales. Under a negative scale of a block or a sub-block, code and zero
/// point are mirrored (top - q and top - z), and values of code books are negated, which takes the
/// bits of int8 for those of IQ4_NL.
template <Unpackable B>
using params_of = typename detail::ParamsOf<B>::type;

/// Formats of super-blocks, whose scales are whole numbers under a float16: K-quants and IQ4_XS.
template <class B>
concept SuperBlocked = Unpackable<B> && SuperBlockScale<typename params_of<B>::scale_type>;

/// The parameters of the same codes with scales, and offsets, of float32.
template <SuperBlocked B>
using float_params_of =
    QuantParams<typename params_of<B>::type, typename params_of<B>::granularity_type,
                typename params_of<B>::symmetry_type, float>;

}  // namespace tq::layouts::gguf

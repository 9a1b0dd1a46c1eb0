// SPDX-License-Identifier: MIT
#pragma once
// TypeList, and the element types of tq in such lists.

#include <tq/core/codebook.hpp>
#include <tq/core/element.hpp>
#include <tq/core/float_elements.hpp>

namespace tq {

/// Types, in an order; nothing is instantiated for a type that is not listed.
template <class... Ts>
struct TypeList {};

/// Every integer element of tq but `int32`, which weights and activations do not have.
using all_integers = TypeList<int2, int3, int4, int5, int6, int7, int8, int16, uint2, uint3, uint4,
                              uint5, uint6, uint7, uint8, uint16>;

/// The small floats, the fixed-point fractions and the exponents.
using all_floats =
    TypeList<float16, bfloat16, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz, float8_e5m2fnuz,
             float8_e8m0fnu, float6_e2m3fn, float6_e3m2fn, float4_e2m1fn, fixed8>;

/// Every published code book.
using all_codebooks = TypeList<nf4, bnb_fp4, iq4_nl, dynamic8, binary>;

namespace detail {
template <class... Lists>
struct joined;
template <class... Ts>
struct joined<TypeList<Ts...>> {
  using type = TypeList<Ts...>;
};
template <class... As, class... Bs, class... Rest>
struct joined<TypeList<As...>, TypeList<Bs...>, Rest...> : joined<TypeList<As..., Bs...>, Rest...> {
};
}  // namespace detail

/// The types of several lists, one after the other.
template <class... Lists>
using Joined = typename detail::joined<Lists...>::type;

/// Every element of tq.
using all_elements = Joined<all_integers, TypeList<ternary>, all_floats, all_codebooks>;

}  // namespace tq

// SPDX-License-Identifier: MIT
#pragma once
// The closed list of operations that the kernel library has kernels for.

#include <tq/core/element_lists.hpp>
#include <tq/core/packing.hpp>
#include <tq/numeric/numerics.hpp>
#include <tq/ops/backend/operations.hpp>

#include <cstddef>
#include <tuple>

namespace tq::library_operations {

namespace detail {
// F of one type of each list, in every combination.
template <template <class...> class F, class Chosen, class... Lists>
struct product;
template <template <class...> class F, class... Cs>
struct product<F, TypeList<Cs...>> {
  using type = TypeList<F<Cs...>>;
};
template <template <class...> class F, class... Cs, class... Ts, class... Rest>
struct product<F, TypeList<Cs...>, TypeList<Ts...>, Rest...> {
  using type = Joined<typename product<F, TypeList<Cs..., Ts>, Rest...>::type...>;
};

// Operations without their constraints.
template <class In, class T, class Pack, class N>
using quantize = operation::Quantize<In, T, Pack, N>;
template <class In, class T, class Pack, class N>
using quantize_offset = operation::QuantizeOffset<In, T, Pack, N>;
template <class T, class Pack, class Out>
using dequantize = operation::Dequantize<T, Pack, Out>;
template <class T, class Pack, class Out>
using dequantize_offset = operation::DequantizeOffset<T, Pack, Out>;
template <class In, class T, class Out, class N>
using fake_quantize = operation::FakeQuantize<In, T, Out, N>;
template <class In, class Out>
using copy = operation::Copy<In, Out>;
}  // namespace detail

template <template <class...> class F, class... Lists>
using product = typename detail::product<F, TypeList<>, Lists...>::type;

// --- what is listed
// --------------------------------------------------------------------------------
using divide = Numerics<>;
using multiply = Numerics<NearestEven, Reciprocal>;
using shift = Numerics<NearestEven, PowerOfTwo>;
template <class N, OverflowPolicy O>
using with_overflow = Numerics<typename N::rounding_type, typename N::scaling_type,
                               typename N::nan_type, typename N::degenerate_type, O>;

using f32 = TypeList<float>;
using halves = TypeList<float16, bfloat16>;
using reals = TypeList<float, double, float16, bfloat16>;
using bytes = TypeList<Unpacked, LowFirst>;

using integers = Joined<all_integers, TypeList<ternary>>;
using fp8 = TypeList<float8_e4m3fn, float8_e5m2, float8_e4m3fnuz, float8_e5m2fnuz>;
using small_floats = TypeList<float6_e2m3fn, float6_e3m2fn, float4_e2m1fn, fixed8>;
using exponents = TypeList<float8_e8m0fnu>;

/// The numerics of presets, as far as codes depend on them.
using integer_numerics = TypeList<divide, multiply>;
using float_numerics = TypeList<divide, multiply, shift>;
using overflow_numerics =
    TypeList<divide, with_overflow<multiply, SaturateFn>, with_overflow<multiply, NonSaturate>,
             multiply, shift, with_overflow<shift, SaturateFn>, with_overflow<shift, NonSaturate>>;
using cast_numerics =
    TypeList<shift, with_overflow<shift, SaturateFn>, with_overflow<shift, NonSaturate>>;

using quantize_integers =
    Joined<product<detail::quantize, f32, integers, bytes, integer_numerics>,
           product<detail::quantize_offset, f32, integers, TypeList<Unpacked>, integer_numerics>>;
using quantize_floats =
    Joined<product<detail::quantize, f32, fp8, bytes, overflow_numerics>,
           product<detail::quantize, f32, small_floats, bytes, float_numerics>,
           product<detail::quantize, f32, halves, TypeList<Unpacked>, cast_numerics>,
           product<detail::quantize, f32, exponents, TypeList<Unpacked>, cast_numerics>>;
using quantize_codebooks = Joined<
    product<detail::quantize, f32, all_codebooks, bytes, integer_numerics>,
    product<detail::quantize, f32, TypeList<nf4, bnb_fp4>, TypeList<HighFirst>, integer_numerics>>;
using quantize_halves = Joined<
    product<detail::quantize, halves, TypeList<int4, int8, uint4, uint8>, bytes, TypeList<divide>>,
    product<detail::quantize, halves, TypeList<float8_e4m3fn, float8_e5m2>, TypeList<Unpacked>,
            TypeList<divide>>,
    product<detail::quantize, halves, TypeList<float4_e2m1fn>, TypeList<LowFirst>,
            TypeList<divide, shift>>>;

using dequantize_all =
    Joined<product<detail::dequantize, Joined<all_elements, TypeList<int32>>, bytes, f32>,
           product<detail::dequantize, TypeList<nf4, bnb_fp4>, TypeList<HighFirst>, f32>,
           product<detail::dequantize,
                   TypeList<int4, int8, uint4, uint8, float8_e4m3fn, float8_e5m2, float4_e2m1fn>,
                   bytes, halves>,
           product<detail::dequantize_offset, integers, TypeList<Unpacked>, f32>,
           TypeList<operation::Decode<dynamic8::format>>>;

using fake_quantize_all =
    Joined<product<detail::fake_quantize, f32, TypeList<int4, int8, int16, uint4, uint8, uint16>,
                   f32, integer_numerics>,
           product<detail::fake_quantize, f32, fp8, f32,
                   TypeList<divide, with_overflow<multiply, SaturateFn>, shift>>,
           product<detail::fake_quantize, f32, small_floats, f32, TypeList<divide, shift>>,
           product<detail::fake_quantize, f32, all_codebooks, f32, TypeList<divide>>>;

using copies = product<detail::copy, reals, reals>;

/// In groups, each compiled by itself.
template <class... Lists>
struct Groups {
  static constexpr std::size_t count = sizeof...(Lists);
  template <std::size_t I>
  using at = std::tuple_element_t<I, std::tuple<Lists...>>;
};
using groups = Groups<quantize_integers, quantize_floats, quantize_codebooks, quantize_halves,
                      dequantize_all, fake_quantize_all, copies>;

}  // namespace tq::library_operations

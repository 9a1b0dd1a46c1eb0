// SPDX-License-Identifier: MIT
#pragma once
// The closed list of operations that the kernel library has kernels for.

#include <tq/core/element_lists.hpp>
#include <tq/core/packing.hpp>
#include <tq/numeric/numerics.hpp>
#include <tq/ops/backend/operations.hpp>

#include <type_traits>

namespace tq::library_operations {

/// The operations F of one type of each list, in every combination. Only the files of the library
/// make lists of them (`library_lists.hpp`).
template <template <class...> class F, class... Lists>
struct product {};
/// Products, or lists of operations, one after the other.
template <class... Products>
struct All {};

namespace detail {
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

// The types that an operation is made of.
template <class... Ts>
struct Arguments {};
template <class Operation>
struct arguments {
  using type = Arguments<>;
};
template <Real In, Element T, Packing Pack, NumericsPolicy N>
struct arguments<operation::Quantize<In, T, Pack, N>> {
  using type = Arguments<In, T, Pack, N>;
};
template <Real In, Element T, Packing Pack, NumericsPolicy N>
struct arguments<operation::QuantizeOffset<In, T, Pack, N>> {
  using type = Arguments<In, T, Pack, N>;
};
template <Element T, Packing Pack, Real Out>
struct arguments<operation::Dequantize<T, Pack, Out>> {
  using type = Arguments<T, Pack, Out>;
};
template <Element T, Packing Pack, Real Out>
struct arguments<operation::DequantizeOffset<T, Pack, Out>> {
  using type = Arguments<T, Pack, Out>;
};
template <Real In, Element T, Real Out, NumericsPolicy N>
struct arguments<operation::FakeQuantize<In, T, Out, N>> {
  using type = Arguments<In, T, Out, N>;
};
template <Real In, Real Out>
struct arguments<operation::Copy<In, Out>> {
  using type = Arguments<In, Out>;
};

template <class T, class List>
inline constexpr bool is_in = false;
template <class T, class... Ts>
inline constexpr bool is_in<T, TypeList<Ts...>> = (std::is_same_v<T, Ts> || ...);

// True if a product or a list has the operation, which is made of the arguments.
template <class Operation, class Args, class List>
inline constexpr bool lists = false;
template <class Operation, class Args, class... Os>
inline constexpr bool lists<Operation, Args, TypeList<Os...>> = is_in<Operation, TypeList<Os...>>;
template <class Operation, class... Ts, template <class...> class F, class... Lists>
  requires(sizeof...(Ts) == sizeof...(Lists) && (is_in<Ts, Lists> && ...))
inline constexpr bool lists<Operation, Arguments<Ts...>, product<F, Lists...>> =
    std::is_same_v<Operation, F<Ts...>>;
template <class Operation, class Args, class... Ps>
inline constexpr bool lists<Operation, Args, All<Ps...>> = (lists<Operation, Args, Ps> || ...);
}  // namespace detail

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
    All<product<detail::quantize, f32, integers, bytes, integer_numerics>,
        product<detail::quantize_offset, f32, integers, TypeList<Unpacked>, integer_numerics>>;
using quantize_floats =
    All<product<detail::quantize, f32, fp8, bytes, overflow_numerics>,
        product<detail::quantize, f32, small_floats, bytes, float_numerics>,
        product<detail::quantize, f32, halves, TypeList<Unpacked>, cast_numerics>,
        product<detail::quantize, f32, exponents, TypeList<Unpacked>, cast_numerics>>;
using quantize_codebooks = All<
    product<detail::quantize, f32, all_codebooks, bytes, integer_numerics>,
    product<detail::quantize, f32, TypeList<nf4, bnb_fp4>, TypeList<HighFirst>, integer_numerics>>;
using quantize_halves = All<
    product<detail::quantize, halves, TypeList<int4, int8, uint4, uint8>, bytes, TypeList<divide>>,
    product<detail::quantize, halves, TypeList<float8_e4m3fn, float8_e5m2>, TypeList<Unpacked>,
            TypeList<divide>>,
    product<detail::quantize, halves, TypeList<float4_e2m1fn>, TypeList<LowFirst>,
            TypeList<divide, shift>>>;

using dequantize_integers =
    All<product<detail::dequantize, Joined<integers, TypeList<int32>>, bytes, f32>,
        product<detail::dequantize_offset, integers, TypeList<Unpacked>, f32>>;
using dequantize_floats = product<detail::dequantize, all_floats, bytes, f32>;
using dequantize_codebooks =
    All<product<detail::dequantize, all_codebooks, bytes, f32>,
        product<detail::dequantize, TypeList<nf4, bnb_fp4>, TypeList<HighFirst>, f32>,
        TypeList<operation::Decode<dynamic8::format>>>;
using dequantize_halves =
    product<detail::dequantize,
            TypeList<int4, int8, uint4, uint8, float8_e4m3fn, float8_e5m2, float4_e2m1fn>, bytes,
            halves>;

using fake_quantize_integers =
    product<detail::fake_quantize, f32, TypeList<int4, int8, int16, uint4, uint8, uint16>, f32,
            integer_numerics>;
using fake_quantize_floats =
    All<product<detail::fake_quantize, f32, fp8, f32,
                TypeList<divide, with_overflow<multiply, SaturateFn>, shift>>,
        product<detail::fake_quantize, f32, small_floats, f32, TypeList<divide, shift>>>;
using fake_quantize_codebooks =
    product<detail::fake_quantize, f32, all_codebooks, f32, TypeList<divide>>;

using copies = product<detail::copy, reals, reals>;

/// The families that `tq_add_kernels(... FAMILIES ...)` chooses from, as bits.
enum Family : unsigned {
  integer_family = 1,
  float_family = 2,
  codebook_family = 4,
  half_family = 8
};

/// The families of the library that the program is linked with.
#if defined(TQ_KERNEL_FAMILIES)
inline constexpr unsigned families = TQ_KERNEL_FAMILIES;
#else
inline constexpr unsigned families = integer_family | float_family | codebook_family | half_family;
#endif

/// Operations that are compiled in a file of their own, and the family that they belong to.
template <Family F, class List>
struct Group {
  static constexpr Family family = F;
  using list = List;
};
using groups =
    TypeList<Group<integer_family, quantize_integers>, Group<integer_family, dequantize_integers>,
             Group<integer_family, fake_quantize_integers>, Group<float_family, quantize_floats>,
             Group<float_family, dequantize_floats>, Group<float_family, fake_quantize_floats>,
             Group<codebook_family, quantize_codebooks>,
             Group<codebook_family, dequantize_codebooks>,
             Group<codebook_family, fake_quantize_codebooks>, Group<half_family, quantize_halves>,
             Group<half_family, dequantize_halves>, Group<half_family, copies>>;

/// True if a library with the families has kernels for an operation.
template <class Operation, unsigned Families, class Groups = groups>
inline constexpr bool has = false;
template <class Operation, unsigned Families, class... Gs>
inline constexpr bool has<Operation, Families, TypeList<Gs...>> =
    (((Families & Gs::family) != 0 &&
      detail::lists<Operation, typename detail::arguments<Operation>::type, typename Gs::list>) ||
     ...);

}  // namespace tq::library_operations

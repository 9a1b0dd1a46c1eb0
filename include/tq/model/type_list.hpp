// SPDX-License-Identifier: MIT
#pragma once
// TypeList: the types a run-time name may stand for.

#include <tq/core/codebook.hpp>
#include <tq/core/element.hpp>
#include <tq/core/float_elements.hpp>
#include <tq/core/granularity.hpp>
#include <tq/core/scales.hpp>
#include <tq/core/symmetry.hpp>
#include <tq/numeric/numerics.hpp>

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

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

/// Every way to store scales.
using all_scales =
    TypeList<float, float16, bfloat16, float8_e8m0fnu, float8_e4m3fn, TwoLevel<float8_e4m3fn>,
             TwoLevel<float8_e4m3fn, BlockScales::normal>, DoubleQuantized, Unscaled>;

namespace detail {

using all_symmetries = TypeList<Symmetric, SymmetricNarrow, SymmetricHalf, SymmetricHalfDown, Asymmetric>;
using all_granularities =
    TypeList<PerTensor, PerChannel<>, PerGroup<dynamic, dynamic>, PerToken, PerBlock<>>;

// The numerics presets by name; the types themselves do not know theirs.
struct onnx_preset {
  static constexpr std::string_view name = "onnx";
  using type = numerics::onnx;
};
struct torch_preset {
  static constexpr std::string_view name = "torch";
  using type = numerics::torch;
};
struct ocp_preset {
  static constexpr std::string_view name = "ocp";
  using type = numerics::ocp;
};
struct bitsandbytes_preset {
  static constexpr std::string_view name = "bitsandbytes";
  using type = numerics::bitsandbytes;
};
struct torch_2_11_preset {
  static constexpr std::string_view name = "torch_2_11";
  using type = numerics::torch_2_11;
};
struct exact_preset {
  static constexpr std::string_view name = "exact";
  using type = numerics::exact;
};
using all_numerics =
    TypeList<onnx_preset, torch_preset, ocp_preset, bitsandbytes_preset, torch_2_11_preset, exact_preset>;

// Where the range of a block comes from: its smallest and largest value, or the mean magnitude.
struct min_max_calibrator {
  static constexpr std::string_view name = "min_max";
};
struct mean_abs_calibrator {
  static constexpr std::string_view name = "mean_abs";
};
using all_calibrators = TypeList<min_max_calibrator, mean_abs_calibrator>;

// The name that stands for T.
template <class T>
inline constexpr std::string_view name_of = [] {
  if constexpr (std::same_as<T, float>) return scale_type_name<float>;
  else return std::string_view(T::name);
}();

// "int4, int8": for messages.
template <class... Ts>
[[nodiscard]] std::string known_names(TypeList<Ts...>) {
  std::string text;
  ((text.append(text.empty() ? "" : ", ").append(name_of<Ts>)), ...);
  return text;
}

template <class... Ts>
[[nodiscard]] std::vector<std::string> names_of(TypeList<Ts...>) {
  return {std::string(name_of<Ts>)...};
}

template <class... Ts>
[[nodiscard]] constexpr bool has_name(TypeList<Ts...>, std::string_view name) noexcept {
  return ((name_of<Ts> == name) || ...);
}

// The number of types before the one of that name.
template <class... Ts>
[[nodiscard]] constexpr std::size_t position_of(TypeList<Ts...>, std::string_view name) noexcept {
  std::size_t position = 0;
  static_cast<void>(((name_of<Ts> == name || (++position, false)) || ...));
  return position;
}

}  // namespace detail

}  // namespace tq

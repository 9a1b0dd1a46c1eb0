// SPDX-License-Identifier: MIT
#pragma once
// TypeList: the types a run-time name may stand for.

#include <tq/core/element.hpp>
#include <tq/core/granularity.hpp>
#include <tq/core/symmetry.hpp>
#include <tq/numeric/numerics.hpp>

#include <string>
#include <string_view>

namespace tq {

/// Types, in an order; nothing is instantiated for a type that is not listed.
template <class... Ts>
struct TypeList {};

/// Every integer element of tq.
using all_integers = TypeList<int2, int3, int4, int5, int6, int7, int8, int16, uint2, uint3, uint4,
                              uint5, uint6, uint7, uint8, uint16>;

namespace detail {

using all_symmetries = TypeList<Symmetric, SymmetricNarrow, Asymmetric>;
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
using all_numerics = TypeList<onnx_preset, torch_preset>;

// "int4, int8": for messages.
template <class... Ts>
[[nodiscard]] std::string known_names(TypeList<Ts...>) {
  std::string text;
  ((text.append(text.empty() ? "" : ", ").append(std::string_view(Ts::name))), ...);
  return text;
}

template <class... Ts>
[[nodiscard]] constexpr bool has_name(TypeList<Ts...>, std::string_view name) noexcept {
  return ((std::string_view(Ts::name) == name) || ...);
}

}  // namespace detail

}  // namespace tq

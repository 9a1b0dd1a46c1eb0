// SPDX-License-Identifier: MIT
#pragma once
// The types that names may stand for at run time.

#include <tq/core/element_lists.hpp>
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

/// Every way to store scales.
using all_scales =
    TypeList<float, float16, bfloat16, float8_e8m0fnu, float8_e4m3fn, TwoLevel<float8_e4m3fn>,
             TwoLevel<float8_e4m3fn, BlockScales::normal>, DoubleQuantized, Unscaled>;

namespace detail {

using all_symmetries =
    TypeList<Symmetric, SymmetricNarrow, SymmetricHalf, SymmetricHalfDown, Asymmetric, FloatOffset>;
// Every way to store scales beside offsets.
using all_offset_scales = TypeList<float, float16, bfloat16>;
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
using all_numerics = TypeList<onnx_preset, torch_preset, ocp_preset, bitsandbytes_preset,
                              torch_2_11_preset, exact_preset>;

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

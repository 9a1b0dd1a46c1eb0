// SPDX-License-Identifier: MIT
#pragma once
// How scales can be stored, as types: float32, a smaller float each, on two levels, or not at all.

#include <tq/core/codebook.hpp>
#include <tq/core/element.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tq {

/// The smallest block scales that are made of a range.
enum class BlockScales : std::uint8_t {
  any,     ///< subnormal ones too, and 0 for blocks that are nothing beside the rest of the tensor
  normal,  ///< at least the smallest normal value (torchao)
};

namespace detail {
// "float8_e4m3fn_two_level": the name of a scale type over the one of its codes.
template <class E, BlockScales Least>
inline constexpr auto two_level_name = [] {
  constexpr std::string_view element = E::name;
  constexpr std::string_view suffix =
      Least == BlockScales::normal ? "_two_level_normal" : "_two_level";
  std::array<char, element.size() + suffix.size()> text{};
  std::copy(suffix.begin(), suffix.end(), std::copy(element.begin(), element.end(), text.begin()));
  return text;
}();
}  // namespace detail

/// Scales of type `Element` under one float32 for the whole tensor: scale i = tensor_scale *
/// value(code i). Source: NVIDIA NVFP4; torchao `nvfp4_quantize`.
template <CodedElement Element, BlockScales Least = BlockScales::any>
struct TwoLevel {
  static constexpr std::string_view name{detail::two_level_name<Element, Least>.data(),
                                         detail::two_level_name<Element, Least>.size()};
};

/// Scales quantized themselves: scale i = map[code i] * block_scale[i / 256] + offset, with
/// `dynamic8` as map and the mean of the scales as offset. Source: Dettmers et al., "QLoRA", 2023,
/// section 3; bitsandbytes `compress_statistics`.
struct DoubleQuantized {
  static constexpr std::string_view name = "double_quantized";
  static constexpr std::size_t block = 256;
  using code_type = std::uint8_t;
  using map = CodebookFormat<codebooks::dynamic8>;
};

/// No scales: codes stand for the values themselves, as a cast makes them.
struct Unscaled {
  static constexpr std::string_view name = "none";
};

namespace detail {
template <class S>
inline constexpr bool is_two_level = false;
template <CodedElement E, BlockScales Least>
inline constexpr bool is_two_level<TwoLevel<E, Least>> = true;
template <class S>
inline constexpr bool is_scale_type =
    std::same_as<S, float> || std::same_as<S, DoubleQuantized> || std::same_as<S, Unscaled> ||
    CodedElement<S> || is_two_level<S>;
}  // namespace detail

/// A type scales can be stored as: float, a coded element, `TwoLevel<...>`, `DoubleQuantized`,
/// `Unscaled`.
template <class S>
concept ScaleType = detail::is_scale_type<S>;

/// The name of a scale type in JSON and on command lines; that of float is "float32".
template <ScaleType S>
inline constexpr std::string_view scale_type_name = [] {
  if constexpr (std::same_as<S, float>) return std::string_view("float32");
  else return std::string_view(S::name);
}();

}  // namespace tq

// SPDX-License-Identifier: MIT
#pragma once
// The schemes that have names of their own, as values.

#include <tq/bodies.hpp>
#include <tq/error.hpp>
#include <tq/scheme/detail/known_names.hpp>
#include <tq/scheme/quant_spec.hpp>
#include <tq/scheme/type_list.hpp>
#include <tq/scheme/visit.hpp>

#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tq {

/// A scheme and what it is called: "mxfp4".
struct NamedScheme {
  std::string name;
  QuantSpec spec;
};

namespace detail {

[[nodiscard]] TQ_API QuantSpec made_by(QuantSpec spec, std::string_view numerics,
                                       std::string_view calibrator = "min_max");

}  // namespace detail

/// Every named scheme: casts to 16 and 8 bits (no scales), 8-bit floats under one scale per tensor
/// (`fp8_e4m3`, what is commonly meant by fp8), integers per channel and, ending in
/// "_g32", in groups of 32 (int: symmetric, uint: with zero points), the Microscaling formats,
/// NVFP4 (`nvfp4_normal`: the scales of torchao), the code books with the blocks of bitsandbytes
/// and GGUF, and ternary and binary weights under their mean magnitude.
/// Source of the last two: Ma et al., "The Era of 1-bit LLMs", 2024; Rastegari et al., "XNOR-Net",
/// 2016.
[[nodiscard]] TQ_API std::span<const NamedScheme> named_schemes();

/// The scheme of that name, or null.
[[nodiscard]] TQ_API const QuantSpec* find_scheme(std::string_view name);

/// The scheme of that name. Throws: `errc::unknown_name`, with the names there are.
[[nodiscard]] TQ_API const QuantSpec& named_scheme(std::string_view name);

/// Asymmetric for unsigned integers, which have no other way to tell negative values; symmetric.
template <class Types = all_elements>
[[nodiscard]] std::string default_symmetry(std::string_view type) {
  const bool is_unsigned =
      detail::has_name(Types{}, type) &&
      detail::with_name<bool>(type, Types{}, []<class T>(std::type_identity<T>) {
        if constexpr (CodedElement<T>) return false;
        else return T::qmin == 0;
      });
  return std::string(is_unsigned ? Asymmetric::name : Symmetric::name);
}

/// The names of the schemes that are not those of types as well.
template <class Types = all_elements>
[[nodiscard]] std::vector<std::string> scheme_names() {
  std::vector<std::string> names;
  for (const NamedScheme& scheme : named_schemes())
    if (!detail::has_name(Types{}, scheme.name)) names.push_back(scheme.name);
  return names;
}

/// The names that `scheme_of` takes: those of types, then those of schemes.
template <class Types = all_elements>
[[nodiscard]] std::vector<std::string> type_and_scheme_names() {
  std::vector<std::string> names = detail::names_of(Types{});
  const std::vector<std::string> schemes = scheme_names<Types>();
  names.insert(names.end(), schemes.begin(), schemes.end());
  return names;
}

/// The scheme that a name stands for: a named one, or an element type per channel with its default
/// symmetry. Throws: `errc::unknown_name`, with the names there are.
template <class Types = all_elements>
[[nodiscard]] QuantSpec scheme_of(std::string_view name) {
  if (const QuantSpec* spec = find_scheme(name)) return *spec;
  if (!detail::has_name(Types{}, name))
    detail::raise_expected(
        errc::unknown_name, "",
        {"a type (", detail::known_names(Types{}), ") or a scheme (",
         joined_names(scheme_names<Types>()), ")"},
        {detail::in_quotes(name), did_you_mean(name, type_and_scheme_names<Types>())});
  QuantSpec spec;
  spec.type = name;
  spec.symmetry = default_symmetry<Types>(name);
  return spec;
}

}  // namespace tq

#ifndef TQ_FILE_LIBRARY
#include <tq/scheme/named_schemes.ipp>
#endif

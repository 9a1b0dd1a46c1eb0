// SPDX-License-Identifier: MIT
#pragma once
// The schemes that have names of their own, as values.

#include <tq/core/formats.hpp>
#include <tq/error.hpp>
#include <tq/scheme/detail/known_names.hpp>
#include <tq/scheme/quant_spec.hpp>
#include <tq/scheme/type_list.hpp>
#include <tq/scheme/visit.hpp>

#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tq {

/// A scheme and what it is called: "mxfp4".
struct NamedScheme {
  std::string name;
  QuantSpec spec;
};

namespace detail {

// A cast: the tensor in another type, without scales.
template <Element T>
[[nodiscard]] QuantSpec cast_spec() {
  return spec_of<QuantParams<T, PerTensor, Symmetric, Unscaled>>();
}

[[nodiscard]] inline QuantSpec made_by(QuantSpec spec, std::string_view numerics,
                                       std::string_view calibrator = "min_max") {
  spec.numerics = numerics;
  spec.calibrator = calibrator;
  return spec;
}

// Named schemes name no axis: the default follows what a tensor is.
[[nodiscard]] inline std::vector<NamedScheme> make_named_schemes() {
  std::vector<NamedScheme> list;
  const auto add = [&](std::string_view name, QuantSpec spec) {
    spec.axis.reset();
    list.push_back({std::string(name), std::move(spec)});
  };
  const auto add_casts = [&]<class... Ts>(TypeList<Ts...>) {
    (add(Ts::name, cast_spec<Ts>()), ...);
  };
  const auto add_channels = [&]<class... Ts>(TypeList<Ts...>) {
    (add(Ts::name, spec_of<QuantParams<Ts, PerChannel<0>, Symmetric>>()), ...);
  };
  // "int4_g32", and with zero points "uint4_g32".
  const auto add_groups = [&]<class S, class... Ts>(std::type_identity<S>, TypeList<Ts...>) {
    (add(std::string(Ts::name) + "_g32", spec_of<QuantParams<Ts, PerGroup<32>, S>>()), ...);
  };
  add_casts(
      TypeList<float16, bfloat16, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz, float8_e5m2fnuz>{});
  add("fp8_e4m3", spec_of<QuantParams<float8_e4m3fn, PerTensor, Symmetric>>());
  add("fp8_e5m2", spec_of<QuantParams<float8_e5m2, PerTensor, Symmetric>>());
  add_channels(TypeList<int16, int8, int6, int5, int4, int3, int2>{});
  add_groups(std::type_identity<Symmetric>{}, TypeList<int8, int6, int5, int4, int3, int2>{});
  add_groups(std::type_identity<Asymmetric>{},
             TypeList<uint8, uint6, uint5, uint4, uint3, uint2>{});
  add("mxfp8_e4m3", spec_of<mxfp8_e4m3>());
  add("mxfp8_e5m2", spec_of<mxfp8_e5m2>());
  add("mxfp6_e2m3", spec_of<mxfp6_e2m3>());
  add("mxfp6_e3m2", spec_of<mxfp6_e3m2>());
  add("mxfp4", spec_of<mxfp4>());
  add("mxint8", spec_of<mxint8>());
  add("nvfp4", spec_of<nvfp4>());
  add("nvfp4_normal", spec_of<nvfp4_normal>());
  add("nf4", made_by(spec_of<nf4_64>(), "bitsandbytes"));
  add("nf4_double", made_by(spec_of<nf4_64_double>(), "bitsandbytes"));
  add("bnb_fp4", made_by(spec_of<QuantParams<bnb_fp4, PerGroup<64>, Symmetric>>(), "bitsandbytes"));
  add("iq4_nl", spec_of<QuantParams<iq4_nl, PerGroup<32>, Symmetric, float16>>());
  add("ternary",
      made_by(spec_of<QuantParams<ternary, PerChannel<0>, Symmetric>>(), "onnx", "mean_abs"));
  add("binary",
      made_by(spec_of<QuantParams<binary, PerChannel<0>, Symmetric>>(), "onnx", "mean_abs"));
  return list;
}

}  // namespace detail

/// Every named scheme: casts to 16 and 8 bits (no scales), 8-bit floats under one scale per tensor
/// (`fp8_e4m3`, what is commonly meant by fp8), integers per channel and, ending in
/// "_g32", in groups of 32 (int: symmetric, uint: with zero points), the Microscaling formats,
/// NVFP4 (`nvfp4_normal`: the scales of torchao), the code books with the blocks of bitsandbytes
/// and GGUF, and ternary and binary weights under their mean magnitude.
/// Source of the last two: Ma et al., "The Era of 1-bit LLMs", 2024; Rastegari et al., "XNOR-Net",
/// 2016.
[[nodiscard]] inline std::span<const NamedScheme> named_schemes() {
  static const std::vector<NamedScheme> list = detail::make_named_schemes();
  return list;
}

/// The scheme of that name, or null.
[[nodiscard]] inline const QuantSpec* find_scheme(std::string_view name) {
  for (const NamedScheme& scheme : named_schemes())
    if (scheme.name == name) return &scheme.spec;
  return nullptr;
}

/// The scheme of that name. Throws: `errc::unknown_name`, with the names there are.
[[nodiscard]] inline const QuantSpec& named_scheme(std::string_view name) {
  std::vector<std::string> names;
  for (const NamedScheme& scheme : named_schemes()) names.push_back(scheme.name);
  require_one_of("tq::named_scheme", names, name);
  return *find_scheme(name);
}

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

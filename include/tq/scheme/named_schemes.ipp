// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/scheme/named_schemes.hpp.

#include <tq/core/formats.hpp>
#include <tq/scheme/named_schemes.hpp>

#include <utility>

namespace tq {

namespace detail {

// A cast: the tensor in another type, without scales.
// A cast: the tensor in another type, without scales.
template <Element T>
[[nodiscard]] QuantSpec cast_spec() {
  return spec_of<QuantParams<T, PerTensor, Symmetric, Unscaled>>();
}

TQ_API QuantSpec made_by(QuantSpec spec, std::string_view numerics, std::string_view calibrator) {
  spec.numerics = numerics;
  spec.calibrator = calibrator;
  return spec;
}

// Named schemes name no axis: the default follows what a tensor is.
TQ_API std::vector<NamedScheme> make_named_schemes() {
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

TQ_API std::span<const NamedScheme> named_schemes() {
  static const std::vector<NamedScheme> list = detail::make_named_schemes();
  return list;
}

TQ_API const QuantSpec* find_scheme(std::string_view name) {
  for (const NamedScheme& scheme : named_schemes())
    if (scheme.name == name) return &scheme.spec;
  return nullptr;
}

TQ_API const QuantSpec& named_scheme(std::string_view name) {
  std::vector<std::string> names;
  for (const NamedScheme& scheme : named_schemes()) names.push_back(scheme.name);
  require_one_of("tq::named_scheme", names, name);
  return *find_scheme(name);
}

}  // namespace tq

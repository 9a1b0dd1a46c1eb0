// SPDX-License-Identifier: MIT
#pragma once
// Guesses the name that a user meant by a name that does not exist: "did you mean".

#include <tq/bodies.hpp>
#include <tq/config.hpp>

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace tq {

namespace detail {

// Names in other libraries, as `plain_name` leaves them. The first existing name is suggested.
struct OtherName {
  std::string_view said, meant;
};
inline constexpr std::array<OtherName, 54> other_names{{
    {"fp8", "fp8_e4m3"},
    {"float8", "fp8_e4m3"},
    {"f8", "fp8_e4m3"},
    {"e4m3", "fp8_e4m3"},
    {"e5m2", "fp8_e5m2"},
    {"fp8", "float8_e4m3fn"},
    {"float8", "float8_e4m3fn"},
    {"f8", "float8_e4m3fn"},
    {"fp8e4m3fn", "float8_e4m3fn"},
    {"fp8e4m3", "float8_e4m3fn"},
    {"fp8e5m2", "float8_e5m2"},
    {"f8e4m3", "float8_e4m3fn"},
    {"f8e5m2", "float8_e5m2"},
    {"e4m3", "float8_e4m3fn"},
    {"e5m2", "float8_e5m2"},
    {"e8m0", "float8_e8m0fnu"},
    {"ue8m0", "float8_e8m0fnu"},
    {"e2m1", "float4_e2m1fn"},
    {"fp4", "float4_e2m1fn"},
    {"f4", "float4_e2m1fn"},
    {"e2m3", "float6_e2m3fn"},
    {"e3m2", "float6_e3m2fn"},
    {"fp6", "float6_e2m3fn"},
    {"fp16", "float16"},
    {"f16", "float16"},
    {"half", "float16"},
    {"bf16", "bfloat16"},
    {"fp32", "float32"},
    {"f32", "float32"},
    {"float", "float32"},
    {"qint8", "int8"},
    {"quint8", "uint8"},
    {"q8", "int8"},
    {"q4", "int4"},
    {"int1", "binary"},
    {"int158", "ternary"},
    {"bnbnf4", "nf4"},
    {"cast", "none"},
    {"unscaled", "none"},
    {"affine", "asymmetric"},
    {"zeropoint", "asymmetric"},
    {"channel", "per_channel"},
    {"channelwise", "per_channel"},
    {"perrow", "per_channel"},
    {"group", "per_group"},
    {"groupwise", "per_group"},
    {"blockwise", "per_block"},
    {"tensorwise", "per_tensor"},
    {"pytorch", "torch"},
    {"onnxruntime", "onnx"},
    {"bnb", "bitsandbytes"},
    {"kldivergence", "kl"},
    {"absolutemax", "abs_max"},
    {"ema", "moving_average"},
}};

}  // namespace detail

/// The one of `known` that was probably meant by `name`: the same but for case and dashes, what
/// others call it, one that begins with it or contains it, or one that differs in few characters
/// where no other is as close. Empty where none is.
[[nodiscard]] TQ_API std::string closest_name(std::string_view name,
                                              const std::vector<std::string>& known);

/// `; did you mean "int8"?` for the end of a message, or nothing.
[[nodiscard]] TQ_API std::string did_you_mean(std::string_view name,
                                              const std::vector<std::string>& known);

}  // namespace tq

#ifndef TQ_FILE_LIBRARY
#include <tq/scheme/closest_name.ipp>
#endif

// SPDX-License-Identifier: MIT
#pragma once
// The schemes of compressed-tensors that tq writes, and their part of the configuration.

#include <tq/checkpoints/detail/stored_input_scale.hpp>
#include <tq/error.hpp>
#include <tq/json/json_text.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tq::io::detail {

// The tensors of a scheme.
enum class CompressedParts : std::uint8_t {
  packed,
  int8,
  float8,
  tensor8,  // float8 with one scale for a fused set
  block8,
  nvfp4,
  mxfp4,
  mxfp8
};

struct CompressedScheme {
  std::string_view name;    // of the option
  std::string_view format;  // of the configuration
  CompressedParts parts;
  int bits;
  std::string_view type, strategy;     // of the weights
  std::size_t group_size;              // 0: none, or that of the option
  std::string_view scale_type;         // empty: that of the model
  std::string_view activations;        // their strategy; empty: they stay floats
  std::string_view note;               // the engines that run it, where not all do
  std::string_view activation_type{};  // of activations of 8 bits; empty: they are as the weights
  StoredInputScale input_scale{};
};

inline constexpr std::string_view float8_note =
    "vLLM and SGLang natively from compute capability 8.9 on, weight-only (Marlin) from 7.5 on; "
    "transformers";
inline constexpr std::string_view mx_note =
    "vLLM on compute capability 10.0, or weight-only (Marlin) from 8.0 on; transformers";

// Codes that cross the words of a row.
inline constexpr std::string_view dense_note =
    "transformers with compressed-tensors from 0.18 on (older versions load weights of a wrong "
    "shape without an error); vLLM from 0.20 on, on GPUs with Humming only";

inline constexpr std::array<CompressedScheme, 19> compressed_schemes{{
    {"int4", "pack-quantized", CompressedParts::packed, 4, "int", "group", 0, "", "", ""},
    {"int8", "pack-quantized", CompressedParts::packed, 8, "int", "group", 0, "", "",
     "vLLM on GPUs only, and transformers"},
    {"int6", "pack-quantized", CompressedParts::packed, 6, "int", "group", 0, "", "", dense_note},
    {"int5", "pack-quantized", CompressedParts::packed, 5, "int", "group", 0, "", "", dense_note},
    {"int3", "pack-quantized", CompressedParts::packed, 3, "int", "group", 0, "", "", dense_note},
    {"int2", "pack-quantized", CompressedParts::packed, 2, "int", "group", 0, "", "",
     "transformers; vLLM from 0.20 on, on GPUs with Humming only"},
    {"w8a8", "int-quantized", CompressedParts::int8, 8, "int", "channel", 0, "", "token",
     "vLLM on a CPU and on compute capability 7.5 to 9.0; transformers"},
    {"w4a8", "pack-quantized", CompressedParts::packed, 4, "int", "group", 0, "", "token",
     "vLLM on compute capability 7.5 or more (Humming), from the version on that reads packed "
     "weights beside int8 activations; transformers",
     "int"},
    {"w4afp8", "pack-quantized", CompressedParts::packed, 4, "int", "group", 0, "", "token",
     "vLLM on Hopper (compute capability 9.0), for models in bfloat16; transformers", "float"},
    {"fp8", "float-quantized", CompressedParts::float8, 8, "float", "channel", 0, "", "token",
     float8_note},
    {"fp8-weight-only", "float-quantized", CompressedParts::float8, 8, "float", "channel", 0, "",
     "", float8_note},
    {"fp8-block", "float-quantized", CompressedParts::block8, 8, "float", "block", 0, "", "group",
     float8_note},
    {"nvfp4", "nvfp4-pack-quantized", CompressedParts::nvfp4, 4, "float", "tensor_group", 16,
     "torch.float8_e4m3fn", "",
     "vLLM and SGLang; transformers decodes dense models in bfloat16, and mixtures of experts "
     "wrongly without an error (transformers#48371)"},
    {"fp8-static",
     "float-quantized",
     CompressedParts::tensor8,
     8,
     "float",
     "tensor",
     0,
     "",
     "tensor",
     float8_note,
     "",
     {".input_scale", 448, false}},
    {"nvfp4-w4a4",
     "nvfp4-pack-quantized",
     CompressedParts::nvfp4,
     4,
     "float",
     "tensor_group",
     16,
     "torch.float8_e4m3fn",
     "tensor_group",
     "vLLM and SGLang on compute capability 10.0, or weight-only (Marlin) from 7.5 on; "
     "transformers decodes dense models in bfloat16, and mixtures of experts wrongly without an "
     "error (transformers#48371)",
     "",
     {".input_global_scale", 2688, true}},
    {"mxfp4", "mxfp4-pack-quantized", CompressedParts::mxfp4, 4, "float", "group", 32,
     "torch.uint8", "", mx_note},
    {"mxfp4-dynamic", "mxfp4-pack-quantized", CompressedParts::mxfp4, 4, "float", "group", 32,
     "torch.uint8", "group", mx_note},
    {"mxfp8", "mxfp8-quantized", CompressedParts::mxfp8, 8, "float", "group", 32, "torch.uint8", "",
     mx_note},
    {"mxfp8-dynamic", "mxfp8-quantized", CompressedParts::mxfp8, 8, "float", "group", 32,
     "torch.uint8", "group", mx_note},
}};

// Throws: `errc::unknown_name`.
[[nodiscard]] inline const CompressedScheme& compressed_scheme(std::string_view name) {
  std::string known;
  for (const CompressedScheme& s : compressed_schemes) {
    if (s.name == name) return s;
    known.append(known.empty() ? "" : ", ").append(s.name);
  }
  tq::detail::raise_expected(errc::unknown_name, "compressed-tensors", {"a scheme of ", known},
                             {tq::detail::in_quotes(name)});
}

// Codes of weights or of activations.
struct CompressedCodes {
  int bits;
  std::string_view type, scale_type, strategy;
  std::size_t group_size;
  bool is_symmetric;
  Json dynamic;          // true, false or "local"
  const char* observer;  // null: none
};

// The arguments of weights or activations with all keys, as llm-compressor writes them.
[[nodiscard]] inline Json quantization_args(const CompressedCodes& codes) {
  Json out{{"actorder", nullptr},
           {"block_structure", nullptr},
           {"dynamic", codes.dynamic},
           {"group_size", nullptr},
           {"num_bits", codes.bits},
           {"observer", codes.observer == nullptr ? Json() : Json(codes.observer)},
           {"observer_kwargs", Json::object()},
           {"scale_dtype", codes.scale_type.empty() ? Json() : Json(codes.scale_type)},
           {"strategy", codes.strategy},
           {"symmetric", codes.is_symmetric},
           {"type", codes.type},
           {"zp_dtype", codes.is_symmetric ? Json() : Json("torch.int8")}};
  if (codes.strategy == "block") out["block_structure"] = {128, 128};
  else if (codes.group_size != 0) out["group_size"] = codes.group_size;
  return out;
}

// The arguments of activations; null where they stay floats.
[[nodiscard]] inline Json activation_args(const CompressedScheme& s, std::size_t group_size) {
  if (s.activations.empty()) return {};
  CompressedCodes codes{s.bits,     s.type, s.scale_type, s.activations,
                        group_size, true,   true,         nullptr};
  if (!s.activation_type.empty()) {
    codes.bits = 8;
    codes.type = s.activation_type;
  }
  if (s.input_scale.is_stored()) {
    codes.dynamic = s.activations == "tensor" ? Json(false) : Json("local");
    codes.observer = "minmax";
  }
  if (s.activations == "token" || s.activations == "tensor") codes.group_size = 0;
  else if (s.parts == CompressedParts::block8) codes.group_size = 128;
  return quantization_args(codes);
}

// The group of layers of a scheme. `group_size`: of the weights, 0 for one scale for each output.
// `targets`: modules, or classes of them.
[[nodiscard]] inline Json config_group(const CompressedScheme& s, std::size_t group_size,
                                       bool is_symmetric, const std::vector<std::string>& targets) {
  const bool is_channel = s.parts == CompressedParts::packed && group_size == 0;
  const CompressedCodes weights{
      s.bits,     s.type,       s.scale_type, is_channel ? "channel" : s.strategy,
      group_size, is_symmetric, false,        "memoryless_minmax"};
  return {{"format", s.format},
          {"input_activations", activation_args(s, group_size)},
          {"output_activations", nullptr},
          {"targets", targets},
          {"weights", quantization_args(weights)}};
}

}  // namespace tq::io::detail

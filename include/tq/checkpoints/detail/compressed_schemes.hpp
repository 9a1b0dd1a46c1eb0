// SPDX-License-Identifier: MIT
#pragma once
// The schemes of compressed-tensors that tq writes, and their part of the configuration.

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
enum class CompressedParts : std::uint8_t { packed, int8, float8, block8, nvfp4, mxfp4, mxfp8 };

struct CompressedScheme {
  std::string_view name;    // of the option
  std::string_view format;  // of the configuration
  CompressedParts parts;
  int bits;
  std::string_view type, strategy;  // of the weights
  std::size_t group_size;           // 0: none, or that of the option
  std::string_view scale_type;      // empty: that of the model
  std::string_view activations;     // their strategy; empty: they stay floats
  std::string_view note;            // the engines that run it, where not all do
};

inline constexpr std::string_view float8_note =
    "vLLM and SGLang natively from compute capability 8.9 on, weight-only (Marlin) from 7.5 on; "
    "transformers";
inline constexpr std::string_view mx_note =
    "vLLM on compute capability 10.0, or weight-only (Marlin) from 8.0 on; transformers";

inline constexpr std::array<CompressedScheme, 11> compressed_schemes{{
    {"int4", "pack-quantized", CompressedParts::packed, 4, "int", "group", 0, "", "", ""},
    {"int8", "pack-quantized", CompressedParts::packed, 8, "int", "group", 0, "", "",
     "vLLM on GPUs only, and transformers"},
    {"w8a8", "int-quantized", CompressedParts::int8, 8, "int", "channel", 0, "", "token",
     "vLLM on a CPU and on compute capability 7.5 to 9.0; transformers"},
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
  raise(errc::unknown_name, "compressed-tensors: expected a scheme of " + known + ", got \"" +
                                std::string(name) + "\"");
}

// The arguments of weights or activations with all keys, as llm-compressor writes them.
[[nodiscard]] inline Json quantization_args(const CompressedScheme& s, std::string_view strategy,
                                            std::size_t group_size, bool is_symmetric,
                                            bool is_dynamic) {
  const auto text_or_null = [](std::string_view text) {
    return text.empty() ? Json() : Json(text);
  };
  Json out{{"actorder", nullptr},
           {"block_structure", nullptr},
           {"dynamic", is_dynamic},
           {"group_size", nullptr},
           {"num_bits", s.bits},
           {"observer", is_dynamic ? Json() : Json("memoryless_minmax")},
           {"observer_kwargs", Json::object()},
           {"scale_dtype", text_or_null(s.scale_type)},
           {"strategy", strategy},
           {"symmetric", is_symmetric},
           {"type", s.type},
           {"zp_dtype", is_symmetric ? Json() : Json("torch.int8")}};
  if (strategy == "block") out["block_structure"] = {128, 128};
  else if (group_size != 0) out["group_size"] = group_size;
  return out;
}

// The group of layers of a scheme. `group_size`: of the weights, 0 for one scale for each output.
// `targets`: modules, or classes of them.
[[nodiscard]] inline Json config_group(const CompressedScheme& s, std::size_t group_size,
                                       bool is_symmetric, const std::vector<std::string>& targets) {
  const bool is_channel = s.parts == CompressedParts::packed && group_size == 0;
  Json activations;
  if (!s.activations.empty())
    activations = quantization_args(
        s, s.activations,
        s.activations == "token" ? 0 : (s.parts == CompressedParts::block8 ? 128 : group_size),
        true, true);
  return {{"format", s.format},
          {"input_activations", activations},
          {"output_activations", nullptr},
          {"targets", targets},
          {"weights", quantization_args(s, is_channel ? "channel" : s.strategy, group_size,
                                        is_symmetric, false)}};
}

}  // namespace tq::io::detail

// SPDX-License-Identifier: MIT
// tq formats: the number formats, the schemes made of them and the types of GGUF files, with what
// they take and what others call them.
#include "commands.hpp"
#include "gguf_types.hpp"
#include "output.hpp"
#include "schemes.hpp"

#include <tq/containers/dtype.hpp>
#include <tq/scheme/named_schemes.hpp>

#include <array>
#include <cstdio>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>

namespace tool {

namespace {

struct OtherNames {
  std::string_view tq, onnx, torch, ml_dtypes;
};

// Where a column is empty, the format has no name there.
constexpr std::array<OtherNames, 18> other_names{{
    {"int2", "INT2", "", "int2"},
    {"int4", "INT4", "", "int4"},
    {"int8", "INT8", "int8", ""},
    {"int16", "INT16", "int16", ""},
    {"uint2", "UINT2", "", "uint2"},
    {"uint4", "UINT4", "", "uint4"},
    {"uint8", "UINT8", "uint8", ""},
    {"uint16", "UINT16", "uint16", ""},
    {"float16", "FLOAT16", "float16", ""},
    {"bfloat16", "BFLOAT16", "bfloat16", "bfloat16"},
    {"float8_e4m3fn", "FLOAT8E4M3FN", "float8_e4m3fn", "float8_e4m3fn"},
    {"float8_e5m2", "FLOAT8E5M2", "float8_e5m2", "float8_e5m2"},
    {"float8_e4m3fnuz", "FLOAT8E4M3FNUZ", "float8_e4m3fnuz", "float8_e4m3fnuz"},
    {"float8_e5m2fnuz", "FLOAT8E5M2FNUZ", "float8_e5m2fnuz", "float8_e5m2fnuz"},
    {"float8_e8m0fnu", "FLOAT8E8M0", "float8_e8m0fnu", "float8_e8m0fnu"},
    {"float6_e2m3fn", "", "", "float6_e2m3fn"},
    {"float6_e3m2fn", "", "", "float6_e3m2fn"},
    {"float4_e2m1fn", "FLOAT4E2M1", "float4_e2m1fn_x2", "float4_e2m1fn"},
}};

OtherNames names_of(const std::string& element) {
  for (const OtherNames& names : other_names)
    if (names.tq == element) return names;
  return {};
}

// Six significant digits: integers up to 16 bits, and the limits of the small floats, are exact.
std::string limit(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string or_dash(std::string_view text) { return text.empty() ? "-" : std::string(text); }

// "group of 32": what one scale is for.
std::string block_text(const tq::QuantSpec& spec) {
  if (spec.scale_type == tq::Unscaled::name) return "-";
  if (spec.granularity == "per_group") return "group of " + std::to_string(spec.group_size);
  return spec.granularity == "per_channel" ? "channel" : "tensor";
}

// The types of blocks of GGUF files; adds them to `list`, too.
Table gguf_table(tq::io::Json& list) {
  Table table({{"type"}, {"weights in a block", true}, {"bytes", true}, {"bits/weight", true}});
  for (const std::string& name : gguf_block_names()) {
    const tq::layouts::gguf::TypeInfo& info = *find_gguf_block(name);
    const double bits = 8.0 * info.bytes / info.elements;
    table.add({name, std::to_string(info.elements), std::to_string(info.bytes), fixed(bits, 3)});
    list.push_back({{"name", name},
                    {"block_weights", info.elements},
                    {"block_bytes", info.bytes},
                    {"bits_per_weight", bits}});
  }
  return table;
}

}  // namespace

void formats(const FormatsOptions& options) {
  Table types({{"format"},
               {"bits", true},
               {"lowest", true},
               {"largest", true},
               {"smallest > 0", true},
               {"stored as"},
               {"ONNX"},
               {"PyTorch"},
               {"ml_dtypes"}});
  tq::io::Json list = tq::io::Json::array(), schemes = tq::io::Json::array();
  for (const Element& e : elements()) {
    const auto dtype = tq::io::dtype_from_element(e.name);
    const std::string storage = dtype ? std::string(to_string(*dtype)) : "U8";
    const OtherNames names = names_of(e.name);
    types.add({e.name, std::to_string(e.bits), limit(e.lowest), limit(e.largest), limit(e.smallest),
               storage, or_dash(names.onnx), or_dash(names.torch), or_dash(names.ml_dtypes)});
    const auto or_null = [](std::string_view name) {
      return name.empty() ? tq::io::Json() : tq::io::Json(name);
    };
    list.push_back({{"name", e.name},
                    {"bits", e.bits},
                    {"lowest", e.lowest},
                    {"largest", e.largest},
                    {"smallest_positive", e.smallest},
                    {"safetensors", storage},
                    {"onnx", or_null(names.onnx)},
                    {"torch", or_null(names.torch)},
                    {"ml_dtypes", or_null(names.ml_dtypes)}});
  }
  constexpr std::size_t side = 4096;
  Table named({{"scheme"}, {"format"}, {"a scale for each"}, {"scales"}, {"bits/weight", true}});
  for (const auto& [name, spec] : tq::named_schemes()) {
    const auto bytes = static_cast<double>(layout_of(spec, tq::Shape{side, side}).bytes());
    const double bits = 8 * bytes / (side * side);
    named.add({name, spec.type, block_text(spec),
               spec.scale_type + (spec.symmetry == "asymmetric" ? ", zero points" : ""),
               fixed(bits, 3)});
    schemes.push_back(
        {{"name", name}, {"spec", tq::io::spec_to_json(spec)}, {"bits_per_weight", bits}});
  }
  tq::io::Json gguf_types = tq::io::Json::array();
  const Table blocks = gguf_table(gguf_types);
  if (options.json) {
    print_json({{"formats", std::move(list)},
                {"schemes", std::move(schemes)},
                {"gguf_types", std::move(gguf_types)}});
    return;
  }
  std::cout << "Formats: --type of tq quantize, calibrate and plot takes each of them.\n\n";
  types.print();
  std::cout << "\nstored as: the type in a safetensors file; U8 is packed from the lowest bit on.\n"
               "\nSchemes: formats with their scales, for --type too; without scales (none) they "
               "are casts.\n\n";
  named.print();
  std::cout << "\nbits/weight of a " << side << " x " << side
            << " matrix, scales and zero points included.\n"
               "\nTypes of GGUF files, for --types of tq sweep, sensitivity and select --for "
               "llama.cpp.\n\n";
  blocks.print();
}

}  // namespace tool

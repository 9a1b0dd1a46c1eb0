// SPDX-License-Identifier: MIT
#pragma once
// Weights of bitsandbytes, of 4 and of 8 bits.

#include <tq/checkpoints/detail/search.hpp>
#include <tq/core/detail/sizes.hpp>
#include <tq/json/json.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tq::io::detail {

// The state of a 4-bit tensor is JSON in a tensor of bytes.
inline void fill_bitsandbytes_4bit(CheckpointCandidate& found) {
  CheckpointWeight& w = found.weight;
  const TensorInfo &at_state = found.part("state"), &t = found.part("weight");
  if (!found.why().empty()) return;
  const Tensor text = found.read(at_state);
  const Json state = parse_json(
      std::string_view(reinterpret_cast<const char*>(text.bytes.data()), text.bytes.size()),
      at_state.name);
  JsonFields fields(state, "tq::io::find_quantized", at_state.name);
  w.group_size = static_cast<std::size_t>(fields.integer("blocksize", 1, 1 << 20));
  for (const std::int64_t e : fields.integers("shape", 0, std::int64_t{1} << 40))
    w.shape.push_back(static_cast<std::size_t>(e));
  const std::string dtype = fields.string("dtype");
  w.dtype = dtype == "float16" ? DType::f16 : dtype == "bfloat16" ? DType::bf16 : DType::f32;
  const std::optional<std::uint64_t> n = element_count(w.shape);
  if (!n || *n > tq::detail::most_in_memory)
    return void(found.misfit(t, "codes of extents that memory can hold"));
  if (t.size_bytes < *n / 2 + *n % 2)
    found.misfit(t, std::to_string(*n / 2 + *n % 2) + " bytes for codes of " + shape_text(w.shape));
  const std::size_t blocks = tq::detail::units_for(static_cast<std::size_t>(*n), w.group_size);
  const bool is_nested = found.has("nested absmax");
  found.require("absmax", is_nested ? DType::u8 : DType::f32, {blocks});
  found.require("map", DType::f32, {16});
  if (is_nested) {
    const auto nested = static_cast<std::size_t>(fields.integer("nested_blocksize", 1, 1 << 20));
    (void)fields.real("nested_offset");
    found.require("nested absmax", DType::f32, {tq::detail::units_for(blocks, nested)});
    found.require("nested map", DType::f32, {256});
  }
  w.bits = 4;
  w.scheme = "bitsandbytes " + fields.string("quant_type") + ", blocks of " +
             std::to_string(w.group_size) + (is_nested ? ", scales quantized" : "");
}

inline bool take_bitsandbytes_4bit(CheckpointSearch& search, const TensorInfo& t) {
  const std::string& name = t.name;
  if (!search.tensors.contains(name + ".absmax")) return false;
  const std::string nf4 = name + ".quant_state.bitsandbytes__nf4",
                    fp4 = name + ".quant_state.bitsandbytes__fp4";
  search.take(name, CheckpointFormat::bitsandbytes_4bit,
              {{"weight", name},
               {"absmax", name + ".absmax"},
               {"map", name + ".quant_map"},
               {"nested absmax", name + ".nested_absmax"},
               {"nested map", name + ".nested_quant_map"},
               {"state", search.tensors.contains(nf4) ? nf4 : fp4}},
              fill_bitsandbytes_4bit);
  return true;
}

inline void fill_bitsandbytes_8bit(CheckpointCandidate& found) {
  CheckpointWeight& w = found.weight;
  const TensorInfo& t = found.part("weight");
  w.shape = t.shape;
  if (!found.require_matrix(t, DType::i8)) return;
  found.require("scales", DType::f32, {t.shape[0]});
  if (found.has("layout")) {
    const TensorInfo& layout = found.part("layout");
    for (const std::byte b : found.read(layout).bytes)
      if (b != std::byte{0})
        found.problem(shown(layout.name) + ": expected rows (0), got layout " +
                      std::to_string(std::to_integer<int>(b)));
  }
  w.dtype = DType::f16;
  w.scheme = "bitsandbytes int8, per row";
}

inline bool take_bitsandbytes_8bit(CheckpointSearch& search, const TensorInfo& t) {
  const std::string base = stem(t.name);
  if (leaf(t.name) != "weight" || t.dtype != DType::i8 || !search.tensors.contains(base + "SCB"))
    return false;
  search.take(t.name, CheckpointFormat::bitsandbytes_8bit,
              {{"weight", t.name}, {"scales", base + "SCB"}, {"layout", base + "weight_format"}},
              fill_bitsandbytes_8bit);
  return true;
}

}  // namespace tq::io::detail

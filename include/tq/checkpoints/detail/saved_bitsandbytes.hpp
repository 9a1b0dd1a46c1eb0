// SPDX-License-Identifier: MIT
#pragma once
// The parts of a 4-bit weight of bitsandbytes, from codes in blocks of 64 of the flattened tensor.

#include <tq/checkpoints/checkpoint_tensor.hpp>
#include <tq/checkpoints/detail/saved_parts.hpp>
#include <tq/checkpoints/detail/written_names.hpp>
#include <tq/checkpoints/linear_weight.hpp>
#include <tq/core/codebook.hpp>
#include <tq/core/detail/sizes.hpp>
#include <tq/json/json_text.hpp>
#include <tq/layouts/bitsandbytes.hpp>
#include <tq/scheme/any_granularity.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tq::io::detail {

// The name of a code book in quant_state.
[[nodiscard]] inline std::string bitsandbytes_name(std::string_view type) {
  return type == bnb_fp4::name ? "fp4" : "nf4";
}

// The text of quant_state as Python's json.dumps writes it. The offset has room for every number,
// so that the size is known without it.
[[nodiscard]] inline std::string quant_state(const LinearWeight& layer, std::string_view type,
                                             bool is_double, float offset) {
  constexpr std::size_t number = 24;
  std::string out = "{\"quant_type\": \"" + bitsandbytes_name(type) +
                    "\", \"blocksize\": 64, \"dtype\": \"" + torch_name(layer.dtype) +
                    "\", \"shape\": [" + std::to_string(layer.outputs) + ", " +
                    std::to_string(layer.inputs) + "]";
  if (!is_double) return out + "}";
  std::string text = Json(double{offset}).dump();
  const std::string spaces(number - std::min(number, text.size()), ' ');
  return out +
         ", \"nested_blocksize\": 256, \"nested_dtype\": \"float32\", \"nested_offset\": " + text +
         "}" + spaces;
}

// The values of all codes of a map, none of them -0.
template <class Format, std::uint32_t Codes>
[[nodiscard]] Bytes map_bytes() {
  std::vector<float> map;
  for (std::uint32_t i = 0; i < Codes; ++i) map.push_back(Format::decode(i) + 0.0f);
  return bytes_of_values(std::span<const float>(map));
}

// Throws unless `weight` has codes of that code book, flat or [outputs, inputs].
inline void require_flat_blocks(std::string_view format, const LinearWeight& layer,
                                std::string_view type, const CheckpointTensor& weight) {
  const EncodedTensor& t = weight.tensor;
  const std::size_t count = layer.outputs * layer.inputs;
  if (t.spec.type != type || t.shape.size() != count)
    refuse_saving(format, std::string(type) + " of " + std::to_string(count) + " values",
                  to_string(t.spec) + " of " + to_string(t.shape));
  if (!weight.codebook.empty() || !weight.factors.empty() || !weight.input_order.empty())
    refuse_saving(format, "codes and scales alone", "a code book, factors or an input order");
}

// The codes with the first of a byte in its high half; a code of 0 follows the last odd code.
[[nodiscard]] inline Bytes swapped_nibbles(const EncodedTensor& t, std::string_view type) {
  Bytes out = copied(t.codes.span());
  for (std::byte& b : out) b = (b >> 4) | (b << 4);
  if (t.shape.size() % 2 != 0)
    out.back() = (out.back() & std::byte{0xf0}) |
                 std::byte{type == nf4::name ? layouts::bitsandbytes::nf4_zero
                                             : layouts::bitsandbytes::fp4_zero};
  return out;
}

// The scale of every 64 values. Throws: `errc::unsupported` where these have several.
[[nodiscard]] inline std::vector<float> flat_absmax(std::string_view format,
                                                    const EncodedTensor& t) {
  const std::size_t count = t.shape.size();
  const Shape block = AnyGranularity(t.spec).block(t.shape);
  const std::size_t size = block.size();
  std::vector<float> out(tq::detail::units_for(count, 64));
  const std::vector<float> scales = t.scales.values();
  const bool is_whole = size == block[block.rank() - 1] || scales.size() == 1;
  const bool fits = scales.size() == 1 ? count <= 64 : is_whole && 64 % size == 0;
  if (!fits) refuse_saving(format, "scales of 64 values", to_string(t.spec));
  const std::size_t each = scales.size() == 1 ? 64 : size;
  for (std::size_t i = 0; i < scales.size(); ++i) {
    float& absmax = out.at(i * each / 64);
    if (i * each % 64 == 0) absmax = scales[i];
    if (absmax != scales[i]) refuse_saving(format, "one scale for 64 values", "several");
  }
  return out;
}

}  // namespace tq::io::detail

// SPDX-License-Identifier: MIT
#pragma once
// Bitsandbytes4Bit: 4-bit weights of bitsandbytes.

#include <tq/checkpoints/checkpoint_parts.hpp>
#include <tq/checkpoints/checkpoint_search.hpp>
#include <tq/checkpoints/checkpoint_tensor.hpp>
#include <tq/checkpoints/detail/saved_bitsandbytes.hpp>
#include <tq/checkpoints/detail/saved_parts.hpp>
#include <tq/checkpoints/linear_weight.hpp>
#include <tq/containers/safetensors_writer.hpp>
#include <tq/core/codebook.hpp>
#include <tq/core/detail/sizes.hpp>
#include <tq/core/scales.hpp>
#include <tq/json/detail/json_fields.hpp>
#include <tq/json/json.hpp>
#include <tq/layouts/bitsandbytes.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tq::checkpoints {

/// W, W.absmax, W.quant_map and W.quant_state.bitsandbytes__nf4 or __fp4; of double quantization
/// also W.nested_absmax and W.nested_quant_map (`tq::layouts::bitsandbytes`). Weights have the maps
/// of their file; blocks that go on from row to row become smaller ones that do not.
struct Bitsandbytes4Bit {
  static constexpr std::string_view name = "bitsandbytes_4bit";
  static constexpr std::array<std::string_view, 4> marks{".absmax", ".nested_absmax", ".quant_map",
                                                         ".nested_quant_map"},
      part_names{marks};

  static bool find(io::CheckpointSearch& search, const io::TensorInfo& t) {
    const std::string& base = t.name;
    if (!search.contains(base + ".absmax")) return false;
    const std::string nf4 = base + ".quant_state.bitsandbytes__nf4",
                      fp4 = base + ".quant_state.bitsandbytes__fp4";
    search.take(base, name,
                {{"weight", base},
                 {"absmax", base + ".absmax"},
                 {"map", base + ".quant_map"},
                 {"nested absmax", base + ".nested_absmax"},
                 {"nested map", base + ".nested_quant_map"},
                 {"state", search.contains(nf4) ? nf4 : fp4}},
                fill);
    return true;
  }

  template <Backend B>
  [[nodiscard]] static CheckpointTensor load(const io::CheckpointParts<B>& parts) {
    const io::CheckpointWeight& w = parts.weight();
    CheckpointTensor out;
    EncodedTensor& t = out.tensor;
    t.shape = Shape(std::span<const std::size_t>(w.shape));
    t.spec.granularity = PerTensor::name;
    set_codes(t, parts.bytes("weight"));
    set_map(out, parts.floats("map"), w);
    const std::vector<float> absmax = absmax_of(parts);
    detail::require_count("tq::io::load_checkpoint", "entries of absmax",
                          detail::blocks_along(t.shape.size(), w.group_size), absmax.size());
    std::vector<float> scales = scales_of(t, absmax, w.group_size);
    // Scales have no sign: that of a rebuilt absmax below 0 becomes a factor.
    for (std::size_t i = 0; i < scales.size(); ++i)
      if (scales[i] < 0) {
        out.factors.resize(scales.size(), 1.0f);
        out.factors[i] = -1.0f;
        scales[i] = -scales[i];
      }
    t.scales = Scales<float>(std::move(scales));
    return out;
  }

  /// The parts of a weight of that element, "nf4" or "bnb_fp4", in blocks of 64; `is_double`: whose
  /// absmax is quantized.
  [[nodiscard]] static std::vector<io::TensorDecl> declarations(const io::LinearWeight& layer,
                                                                std::string_view type,
                                                                bool is_double) {
    const std::size_t n = layer.outputs * layer.inputs, blocks = detail::units_for(n, 64);
    const std::string base = layer.module + ".weight";
    std::vector<io::TensorDecl> out{
        {base, io::DType::u8, {layouts::bitsandbytes::bytes_for(n), 1}},
        {base + ".absmax", is_double ? io::DType::u8 : io::DType::f32, {blocks}}};
    if (is_double) {
      out.push_back({base + ".nested_absmax", io::DType::f32, {detail::units_for(blocks, 256)}});
      out.push_back({base + ".nested_quant_map", io::DType::f32, {256}});
    }
    out.push_back({base + ".quant_map", io::DType::f32, {16}});
    out.push_back({base + ".quant_state.bitsandbytes__" + io::detail::bitsandbytes_name(type),
                   io::DType::u8,
                   {io::detail::quant_state(layer, type, is_double, 0.0f).size()}});
    return out;
  }

  /// The parts of codes that exist, [outputs, inputs] or flat. Throws: `errc::unsupported` for a
  /// weight of another scheme, and where `is_double` for one with scales of float32.
  [[nodiscard]] static std::vector<io::Tensor> save(const io::LinearWeight& layer,
                                                    std::string_view type, bool is_double,
                                                    const CheckpointTensor& weight) {
    const EncodedTensor& t = weight.tensor;
    io::detail::require_flat_blocks(name, layer, type, weight);
    std::vector<io::detail::Bytes> bytes{io::detail::swapped_nibbles(t, type)};
    float offset = 0;
    if (is_double) {
      const auto* scales = t.scales.get_if<Scales<DoubleQuantized>>();
      if (scales == nullptr)
        io::detail::refuse_saving(name, "double-quantized scales", t.spec.scale_type);
      offset = scales->offset();
      bytes.push_back(io::detail::bytes_of_values(scales->stored()));
      bytes.push_back(io::detail::bytes_of_values(scales->block_scales()));
      bytes.push_back(io::detail::map_bytes<DoubleQuantized::map, 256>());
    } else {
      bytes.push_back(
          io::detail::bytes_of_values(std::span<const float>(io::detail::flat_absmax(name, t))));
    }
    bytes.push_back(type == nf4::name ? io::detail::map_bytes<nf4::format, 16>()
                                      : io::detail::map_bytes<bnb_fp4::format, 16>());
    const std::string state = io::detail::quant_state(layer, type, is_double, offset);
    bytes.push_back(io::detail::copied(std::as_bytes(std::span(state))));
    return io::detail::saved_parts(declarations(layer, type, is_double), std::move(bytes));
  }

 private:
  // The state of a 4-bit tensor is JSON in a tensor of bytes.
  static void fill(io::CheckpointCandidate& found) {
    io::CheckpointWeight& w = found.weight;
    const io::TensorInfo &at_state = found.part("state"), &t = found.part("weight");
    if (!found.why().empty()) return;
    const io::Tensor text = found.read(at_state);
    const io::Json state = io::parse_json(
        std::string_view(reinterpret_cast<const char*>(text.bytes.data()), text.bytes.size()),
        at_state.name);
    io::JsonFields fields(state, "tq::io::find_quantized", at_state.name);
    w.group_size = static_cast<std::size_t>(fields.integer("blocksize", 1, 1 << 20));
    for (const std::int64_t e : fields.integers("shape", 0, std::int64_t{1} << 40))
      w.shape.push_back(static_cast<std::size_t>(e));
    const std::string dtype = fields.string("dtype");
    w.dtype = dtype == "float16"    ? io::DType::f16
              : dtype == "bfloat16" ? io::DType::bf16
                                    : io::DType::f32;
    const std::optional<std::uint64_t> n = io::element_count(w.shape);
    if (!n || *n > detail::most_in_memory)
      return void(found.misfit(t, "codes of extents that memory can hold"));
    if (t.size_bytes < *n / 2 + *n % 2)
      found.misfit(
          t, std::to_string(*n / 2 + *n % 2) + " bytes for codes of " + io::shape_text(w.shape));
    const std::size_t blocks = detail::units_for(static_cast<std::size_t>(*n), w.group_size);
    const bool is_nested = found.has("nested absmax");
    found.require("absmax", is_nested ? io::DType::u8 : io::DType::f32, {blocks});
    found.require("map", io::DType::f32, {16});
    if (is_nested) {
      const auto nested = static_cast<std::size_t>(fields.integer("nested_blocksize", 1, 1 << 20));
      (void)fields.real("nested_offset");
      found.require("nested absmax", io::DType::f32, {detail::units_for(blocks, nested)});
      found.require("nested map", io::DType::f32, {256});
    }
    w.bits = 4;
    w.scheme = "bitsandbytes " + fields.string("quant_type") + ", blocks of " +
               std::to_string(w.group_size) + (is_nested ? ", scales quantized" : "");
  }

  // Packed the other way round; storage of wider types may have some bytes more.
  static void set_codes(EncodedTensor& t, const std::vector<std::uint8_t>& packed) {
    const std::size_t n = t.shape.size(), size = layouts::bitsandbytes::bytes_for(n);
    if (packed.size() < size)
      detail::require_count("tq::io::load_checkpoint", "bytes of codes", size, packed.size());
    t.codes = Buffer<std::byte>(size);
    for (std::size_t i = 0; i < size; ++i)
      t.codes.data()[i] = static_cast<std::byte>((packed[i] >> 4 | packed[i] << 4) & 0xff);
    detail::clear_rest<uint4, LowFirst>(t.codes.span(), n);
  }

  // Versions of the library have other last bits in their maps than tq.
  static void set_map(CheckpointTensor& out, std::vector<float> map,
                      const io::CheckpointWeight& w) {
    const auto is_of = [&]<class T>(T) {
      bool same = map.size() == 16;
      for (std::uint32_t i = 0; same && i < 16; ++i)  // -0 may be written as 0
        same = map[i] == T::format::decode(i);
      return same;
    };
    const bool is_fp4 = w.parts.at("state").ends_with("fp4");
    out.tensor.spec.type = is_fp4 ? bnb_fp4::name : nf4::name;
    if (!(is_fp4 ? is_of(bnb_fp4{}) : is_of(nf4{}))) out.codebook = std::move(map);
  }

  template <Backend B>
  [[nodiscard]] static std::vector<float> absmax_of(const io::CheckpointParts<B>& parts) {
    std::vector<float> absmax;
    const bool is_nested = parts.has("nested absmax");
    if (is_nested) {
      const std::vector<char> text = parts.template bytes<char>("state");
      const io::Json state =
          io::parse_json(std::string_view(text.data(), text.size()), "quant_state");
      io::JsonFields fields(state, "tq::io::load_checkpoint", "quant_state");
      absmax = layouts::bitsandbytes::restore_absmax(
          parts.bytes("absmax"), parts.floats("nested map"), parts.floats("nested absmax"),
          static_cast<std::size_t>(fields.count("nested_blocksize")), fields.real("nested_offset"));
    } else {
      absmax = parts.floats("absmax");
    }
    detail::require_absmax("tq::io::load_checkpoint", "absmax", absmax, is_nested);
    return absmax;
  }

  // One scale for all, or one for each group of the last axis, of the largest size that divides
  // both the blocks and the axis.
  [[nodiscard]] static std::vector<float> scales_of(EncodedTensor& t,
                                                    const std::vector<float>& absmax,
                                                    std::size_t block) {
    if (absmax.empty()) return {1.0f};  // of no elements
    if (absmax.size() == 1) return absmax;
    const std::size_t group = std::gcd(block, t.shape[t.shape.rank() - 1]);
    t.spec.granularity = PerGroup<>::name;
    t.spec.group_size = static_cast<int>(group);
    std::vector<float> scales(t.shape.size() / group);
    for (std::size_t i = 0; i < scales.size(); ++i) scales[i] = absmax[i * group / block];
    return scales;
  }
};

}  // namespace tq::checkpoints

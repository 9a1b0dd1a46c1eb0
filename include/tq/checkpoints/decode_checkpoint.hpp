// SPDX-License-Identifier: MIT
#pragma once
// decode_checkpoint: the values of a weight that another program quantized.

#include <tq/checkpoints/checkpoint_weight.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/core/detail/sizes.hpp>
#include <tq/error.hpp>
#include <tq/json/json.hpp>
#include <tq/layouts/awq.hpp>
#include <tq/layouts/bitsandbytes.hpp>
#include <tq/layouts/compressed_tensors.hpp>
#include <tq/layouts/detail/scale_grid.hpp>
#include <tq/layouts/gptq.hpp>
#include <tq/layouts/grouped_weight.hpp>
#include <tq/layouts/nvfp4.hpp>
#include <tq/ops/backend/backend.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/scheme/type_list.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tq::io {

namespace detail {

// Reads the parts of a weight that is known to have them.
template <Backend B>
class CheckpointDecoder {
 public:
  CheckpointDecoder(const CheckpointWeight& weight, const ReadTensor& read)
      : w_(weight), read_(read) {}

  [[nodiscard]] std::vector<float> values() const {
    switch (w_.format) {
      case CheckpointFormat::scaled_float8: return scaled_float8();
      case CheckpointFormat::int8_scaled: return int8_scaled();
      case CheckpointFormat::compressed_tensors: return pack_quantized();
      case CheckpointFormat::nvfp4: return nvfp4();
      case CheckpointFormat::gptq: return gptq();
      case CheckpointFormat::awq: return awq();
      case CheckpointFormat::bitsandbytes_4bit: return bitsandbytes_4bit();
      case CheckpointFormat::bitsandbytes_8bit: return bitsandbytes_8bit();
    }
    return {};
  }

 private:
  [[nodiscard]] bool has(const char* role) const { return w_.parts.contains(role); }
  [[nodiscard]] Tensor part(const char* role) const { return read_(w_.parts.at(role)); }
  [[nodiscard]] std::vector<float> floats(const char* role) const {
    return to_float32<B>(part(role));
  }
  [[nodiscard]] std::vector<std::int32_t> words(const char* role) const {
    return io::values<std::int32_t>(part(role));
  }
  template <class T>
  [[nodiscard]] std::vector<T> bytes(const char* role) const {
    const Tensor t = part(role);
    std::vector<T> out(t.bytes.size());
    if (!out.empty()) std::memcpy(out.data(), t.bytes.data(), out.size());
    return out;
  }
  [[nodiscard]] std::vector<std::int32_t> g_idx() const {
    return has("g_idx") ? words("g_idx") : std::vector<std::int32_t>{};
  }
  // Of a matrix [outputs, inputs]; where the group size is not known, g_idx tells it: group 0 is
  // full.
  [[nodiscard]] GroupedShape grouped(std::span<const std::int32_t> g_idx) const {
    std::size_t size = w_.group_size;
    if (size == 0) size = static_cast<std::size_t>(std::count(g_idx.begin(), g_idx.end(), 0));
    return {w_.shape.at(1), w_.shape.at(0), std::max(size, std::size_t{1})};
  }

  [[nodiscard]] std::vector<float> scaled_float8() const {
    std::vector<float> out = floats("weight");
    Tensor scales = part("scales");
    if (scales.dtype == DType::u8) scales.dtype = DType::f8_e8m0;  // of MXFP8
    multiply_by_blocks(out, Shape(std::span<const std::size_t>(w_.shape)), {w_.block},
                       to_float32<B>(scales));
    return out;
  }

  // Signed codes of up to 8 bits [N, K].
  [[nodiscard]] std::vector<float> signed_codes(const GroupedShape& shape,
                                                const std::vector<std::int8_t>& codes,
                                                std::vector<float> scales,
                                                std::vector<std::int32_t> zero_points,
                                                std::span<const std::int32_t> g_idx) const {
    scales.resize(shape.groups() * shape.outputs, scales.size() == 1 ? scales[0] : 0.0f);
    if (zero_points.size() == 1) zero_points.resize(scales.size(), zero_points[0]);
    return dequantize<B>(
        layouts::compressed_tensors::load_codes(shape, codes, scales, zero_points, g_idx));
  }

  [[nodiscard]] std::vector<float> int8_scaled() const {
    std::vector<std::int32_t> zeros;
    if (has("zero points"))
      for (const std::int8_t z : bytes<std::int8_t>("zero points")) zeros.push_back(z);
    return signed_codes(grouped({}), bytes<std::int8_t>("weight"), floats("scales"),
                        std::move(zeros), {});
  }

  [[nodiscard]] std::vector<float> pack_quantized() const {
    const std::vector<std::int32_t> order = g_idx();
    const GroupedShape shape = grouped(order);
    std::vector<std::int8_t> codes(shape.inputs * shape.outputs);
    std::vector<std::int32_t> zeros;
    by_width(
        TypeList<layouts::compressed_tensors::int1, int2, int3, int4, int5, int6, int7, int8>{},
        [&]<class T>(std::type_identity<T>) {
          layouts::compressed_tensors::load<T, 1>(shape.outputs, shape.inputs, words("weight"),
                                                  codes);
          if (!has("zero points")) return;
          zeros.resize(shape.groups() * shape.outputs);
          const Tensor stored = part("zero points");
          if (stored.dtype == DType::i8)
            std::ranges::transform(to_float32<B>(stored), zeros.begin(),
                                   [](float z) { return static_cast<std::int32_t>(z); });
          else
            layouts::compressed_tensors::load<T, 0, std::int32_t>(
                shape.outputs, shape.groups(), io::values<std::int32_t>(stored), zeros);
        });
    return signed_codes(shape, codes, floats("scales"), std::move(zeros), order);
  }

  [[nodiscard]] std::vector<float> nvfp4() const {
    const Shape shape(std::span<const std::size_t>(w_.shape));
    const auto codes = bytes<std::uint8_t>("weight"), scales = bytes<std::uint8_t>("scales");
    if (has("divisor")) return divided_nvfp4(shape, codes, scales, floats("divisor").at(0));
    return dequantize<B>(layouts::nvidia::load_tensor<tq::nvfp4, layouts::nvidia::Multiplier>(
        shape, codes, scales, floats("tensor scale").at(0)));
  }

  // The scale of a block is its E4M3 over the divisor, rounded once, and a value the product of
  // that and the code. Source: compressed-tensors, quantization/lifecycle/forward.py, _dequantize.
  [[nodiscard]] std::vector<float> divided_nvfp4(const Shape& shape,
                                                 const std::vector<std::uint8_t>& codes,
                                                 const std::vector<std::uint8_t>& scales,
                                                 float divisor) const {
    // All checks, and a tensor of zeros, are those of the format.
    const auto stored = layouts::nvidia::load_tensor<tq::nvfp4, layouts::nvidia::Divisor>(
        shape, codes, scales, divisor);
    const std::span<const std::uint8_t> blocks = stored.params().stored_scales().stored();
    const std::size_t columns = shape[shape.rank() - 1], in_row = (columns + 15) / 16;
    std::vector<float> out(shape.size());
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::uint8_t block = blocks[i / columns * in_row + i % columns / 16];
      const float scale = block == 0 ? 0.0f : float8_e4m3fn::format::decode(block) / divisor;
      const unsigned code = codes[i / 2] >> (i % 2 * 4) & 15u;
      out[i] = float4_e2m1fn::format::decode(code) * scale;
    }
    return out;
  }

  [[nodiscard]] std::vector<float> gptq() const {
    const std::vector<std::int32_t> order = g_idx(), qweight = words("weight"),
                                    qzeros = words("zero points");
    const GroupedShape shape = grouped(order);
    const std::vector<float> scales = floats("scales");
    std::vector<std::uint8_t> codes(shape.inputs * shape.outputs);
    std::vector<std::int32_t> zeros(shape.groups() * shape.outputs);
    by_width(TypeList<uint2, uint3, uint4, uint8>{}, [&]<class T>(std::type_identity<T>) {
      if (w_.is_gptq_v2)
        layouts::gptq::load<T, layouts::gptq::V2>(shape, qweight, qzeros, codes, zeros);
      else layouts::gptq::load<T, layouts::gptq::V1>(shape, qweight, qzeros, codes, zeros);
    });
    // Symmetric weights have zero points of half the range, and no others do everywhere.
    const std::int32_t half = 1 << (w_.bits - 1);
    if (!w_.is_gptq_v2 && std::ranges::all_of(zeros, [&](std::int32_t z) { return z == half + 1; }))
      raise(errc::unsupported,
            "tq::io::decode_checkpoint: expected zero points of checkpoint_format gptq, got qzeros "
            "of " +
                std::to_string(half) +
                " everywhere, as gptq_v2 has them of symmetric weights; "
                "quantize_config.json or config.json beside the file says which");
    return transposed(unsigned_codes(shape, codes, scales, std::move(zeros), order));
  }

  [[nodiscard]] std::vector<float> awq() const {
    const GroupedShape shape = grouped({});
    std::vector<std::uint8_t> codes(shape.inputs * shape.outputs);
    std::vector<std::int32_t> zeros(shape.groups() * shape.outputs);
    layouts::awq::load(shape, words("weight"), words("zero points"), codes, zeros);
    return transposed(unsigned_codes(shape, codes, floats("scales"), std::move(zeros), {}));
  }

  // Unsigned codes of up to 8 bits [K, N]: one type serves all widths.
  [[nodiscard]] std::vector<float> unsigned_codes(const GroupedShape& shape,
                                                  const std::vector<std::uint8_t>& codes,
                                                  const std::vector<float>& scales,
                                                  std::vector<std::int32_t> zero_points,
                                                  std::span<const std::int32_t> g_idx) const {
    return dequantize<B>(tq::detail::grouped_weight<GroupedParams<uint8, 0, Asymmetric>>(
        "tq::io::decode_checkpoint", shape, scales, std::move(zero_points), g_idx,
        [&](std::span<std::uint8_t> to) { std::ranges::copy(codes, to.begin()); }));
  }

  // [K, N] as [N, K].
  [[nodiscard]] std::vector<float> transposed(const std::vector<float>& x) const {
    const std::size_t n = w_.shape.at(0), k = w_.shape.at(1);
    std::vector<float> out(x.size());
    for (std::size_t i = 0; i < k; ++i)
      for (std::size_t j = 0; j < n; ++j) out[j * k + i] = x[i * n + j];
    return out;
  }

  [[nodiscard]] std::vector<float> bitsandbytes_4bit() const {
    namespace bnb = tq::layouts::bitsandbytes;
    std::size_t n = 1;
    for (const std::size_t e : w_.shape) n = tq::detail::product_or_most(n, e);
    static_cast<void>(
        tq::detail::require_in_memory("tq::io::decode_checkpoint", "a number of codes", n));
    std::vector<std::uint8_t> packed = bytes<std::uint8_t>("weight"), codes(n);
    packed.resize(bnb::bytes_for(n));  // storage of wider types may have some more
    bnb::load<B>(packed, codes);
    std::vector<float> absmax;
    if (has("nested absmax")) {
      const std::vector<char> text = bytes<char>("state");
      const Json state = parse_json(std::string_view(text.data(), text.size()), "quant_state");
      JsonFields fields(state, "tq::io::decode_checkpoint", "quant_state");
      absmax = bnb::restore_absmax(
          bytes<std::uint8_t>("absmax"), floats("nested map"), floats("nested absmax"),
          static_cast<std::size_t>(fields.count("nested_blocksize")), fields.real("nested_offset"));
    } else {
      absmax = floats("absmax");
    }
    tq::detail::require_absmax("tq::io::decode_checkpoint", "absmax", absmax, has("nested absmax"));
    std::vector<float> out(n);
    bnb::dequantize_by_map(codes, floats("map"), absmax, w_.group_size, out);
    return out;
  }

  [[nodiscard]] std::vector<float> bitsandbytes_8bit() const {
    const std::vector<std::int8_t> codes = bytes<std::int8_t>("weight");
    const std::vector<float> scb = floats("scales");
    tq::detail::require_absmax("tq::io::decode_checkpoint", "SCB", scb);
    std::vector<float> out(codes.size());
    tq::layouts::bitsandbytes::dequantize_rows(codes, scb, out);
    return out;
  }

  template <class... Ts, class F>
  void by_width(TypeList<Ts...>, F&& f) const {
    ((Ts::bits == w_.bits ? f(std::type_identity<Ts>{}) : void()), ...);
  }

  const CheckpointWeight& w_;
  const ReadTensor& read_;
};

}  // namespace detail

/// The values of a weight that `find_quantized` found, row-major in its shape, as its format
/// defines them in float32. Matrices of GPTQ and AWQ, which files hold transposed, are [outputs,
/// inputs]. Throws: what `read` and the readers of the format (`tq::layouts::gptq`,
/// `tq::layouts::nvidia`, ...) throw: `errc::bad_scale` for scales that cannot be meant;
/// `errc::unsupported` for symmetric GPTQ weights that are plainly of the other version.
template <Backend B = default_backend>
[[nodiscard]] std::vector<float> decode_checkpoint(const CheckpointWeight& weight,
                                                   const ReadTensor& read) {
  return detail::CheckpointDecoder<B>(weight, read).values();
}

}  // namespace tq::io

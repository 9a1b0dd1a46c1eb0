// SPDX-License-Identifier: MIT
#pragma once
// The bytes of NVFP4 tensors: packed codes, E4M3 block scales, and a tensor scale of either
// convention.

#include <tq/core/detail/require_parameters.hpp>
#include <tq/core/formats.hpp>
#include <tq/core/quantized_tensor.hpp>
#include <tq/error.hpp>
#include <tq/layouts/detail/bit_fields.hpp>
#include <tq/layouts/detail/coded_tensor.hpp>
#include <tq/layouts/scale_layout.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// A tensor [..., K] in blocks of 16 along its last axis:
///
///     codes         uint8 [ceil(n / 2)]          the first code in the low nibble, over the
///                                                flattened tensor
///     block scales  uint8 [..., ceil(K / 16)]    E4M3FN, 0x00 to 0x7e: never negative or NaN
///     tensor scale  float32                      by one of two conventions; where there is none, 1
/// Names in checkpoints: weight, weight_scale and weight_scale_2 (TensorRT Model Optimizer); qdata,
/// scale and per_tensor_scale (torchao); weight_packed, weight_scale and weight_global_scale
/// (compressed-tensors). The scales of activations (input_scale, input_global_scale) are not read
/// here. GGUF's NVFP4 is another layout.
namespace tq::layouts::nvidia {

/// `nvfp4` and `nvfp4_normal`.
template <class P>
concept Format = std::same_as<P, nvfp4> || std::same_as<P, nvfp4_normal>;

/// real = value(code) * block scale * tensor scale. Source: torchao,
/// torchao/prototype/mx_formats/nvfp4_tensor.py; TensorRT Model Optimizer, weight_scale_2.
struct Multiplier {
  static constexpr float tensor_scale(float stored) noexcept { return stored; }
  static constexpr float stored(float tensor_scale) noexcept { return tensor_scale; }
};

/// real = value(code) * block scale / stored: the file has the inverse of the tensor scale. The
/// inverse is rounded to float32 both ways, so that scales are within an ulp of
/// block scale / stored, and exact where that is a power of two; writing what was read may change
/// the last bit of `stored`. `tq::io::decode_checkpoint` divides, as compressed-tensors does, which
/// one multiplier for a tensor cannot. Source: compressed-tensors, weight_global_scale.
struct Divisor {
  static constexpr float tensor_scale(float stored) noexcept { return 1.0f / stored; }
  static constexpr float stored(float tensor_scale) noexcept { return 1.0f / tensor_scale; }
};

/// The meaning of the stored tensor scale. Models: `Multiplier`, `Divisor`; a reader has to choose.
template <class C>
concept TensorScaleConvention = requires(float s) {
  { C::tensor_scale(s) } -> std::same_as<float>;
  { C::stored(s) } -> std::same_as<float>;
};

}  // namespace tq::layouts::nvidia

namespace tq::detail {

template <layouts::nvidia::Format Params, ScaleLayout Layout>
[[nodiscard]] Lines require_nvfp4(const char* function, const Shape& shape, std::size_t codes,
                                  std::size_t scales) {
  const Lines lines = require_lines<Params>(function, shape);
  require_matrix<Layout>(function, shape);
  require_count(function, "bytes of codes",
                LowFirst::bytes_for<typename Params::type>(shape.size()), codes);
  require_count(function, "bytes of block scales", Layout::bytes_for(lines.count, lines.blocks),
                scales);
  return lines;
}

inline void require_tensor_scale(const char* function, const char* what, float from, float to) {
  if (!valid_scale(from) || !valid_scale(to))
    raise_expected(errc::bad_scale, function, {"a positive finite tensor scale", what}, {from});
}

// A scale of 0, or one that is infinite as a divisor, is that of a tensor of zeros.
[[nodiscard]] inline bool is_dead_tensor_scale(float stored, float scale) noexcept {
  return scale == 0 && stored >= 0;
}

inline void require_block_scales(const char* function, std::span<const std::uint8_t> scales) {
  constexpr std::uint8_t most = float8_e4m3fn::format::max_code;
  for (std::size_t i = 0; i < scales.size(); ++i)
    if (scales[i] > most)
      raise_expected(errc::bad_scale, function,
                     {"E4M3 block scales that are neither negative nor NaN (codes up to 126)"},
                     {"code ", int{scales[i]}, " for block ", i});
}

// Block scales under their tensor scale are within float32.
void require_products(const char* function, const auto& scales) {
  for (std::size_t i = 0; i < scales.size(); ++i)
    if (!is_finite(scales[i]))
      raise_expected(errc::bad_scale, function,
                     {"block scales that are finite under the tensor scale"},
                     {scales[i], " for block ", i});
}

}  // namespace tq::detail

namespace tq::layouts::nvidia {

/// Reads a tensor. `Layout` is where the block scales lie: in rows, as in checkpoints, or in tiles.
/// A tensor scale of 0 (as a divisor: infinity) is that of a tensor of zeros: here 1, with block
/// scales of 0.
/// Throws: `errc::shape_mismatch` for spans of other sizes; `errc::bad_scale` for block scales that
/// are negative or NaN, for any other tensor scale that is (or whose inverse is) not positive and
/// finite, and for products of the two beyond float32; `errc::bad_axis` for rank 0;
/// `errc::bad_argument` for extents whose product overflows; `errc::unsupported` for tiles beyond
/// rank 2.
template <Format Params, TensorScaleConvention Convention, ScaleLayout Layout = ScaleRows>
[[nodiscard]] QuantizedTensor<Params> load_tensor(const Shape& shape,
                                                  std::span<const std::uint8_t> codes,
                                                  std::span<const std::uint8_t> block_scales,
                                                  float tensor_scale) {
  constexpr const char* function = "tq::layouts::nvidia::load_tensor";
  const detail::Lines lines =
      detail::require_nvfp4<Params, Layout>(function, shape, codes.size(), block_scales.size());
  const float scale = Convention::tensor_scale(tensor_scale);
  const bool is_dead = detail::is_dead_tensor_scale(tensor_scale, scale);
  if (!is_dead) detail::require_tensor_scale(function, "", tensor_scale, scale);
  std::vector<std::uint8_t> codes_of_scales(lines.count * lines.blocks);
  load_scales<Layout>(lines.count, lines.blocks, block_scales, codes_of_scales);
  detail::require_block_scales(function, codes_of_scales);
  if (is_dead) std::ranges::fill(codes_of_scales, std::uint8_t{0});
  Scales<typename Params::scale_type> scales(std::move(codes_of_scales), is_dead ? 1.0f : scale);
  detail::require_products(function, scales.values());
  return detail::tensor_of<LowFirst>(shape, Params({}, std::move(scales)), codes);
}

/// Writes the codes and block scales of a tensor; the result is the tensor scale to be stored.
/// Throws: as `load_tensor`. Nothing is written then.
template <TensorScaleConvention Convention, ScaleLayout Layout = ScaleRows, Format Params,
          Packing Pack>
[[nodiscard]] float store_tensor(const QuantizedTensor<Params, Pack>& tensor,
                                 std::span<std::uint8_t> codes,
                                 std::span<std::uint8_t> block_scales) {
  constexpr const char* function = "tq::layouts::nvidia::store_tensor";
  const detail::Lines lines = detail::require_nvfp4<Params, Layout>(
      function, tensor.shape(), codes.size(), block_scales.size());
  const auto& scales = tensor.params().stored_scales();
  detail::require_block_scales(function, scales.stored());
  const float stored = Convention::stored(scales.tensor_scale());
  detail::require_tensor_scale(function, " that can be stored", scales.tensor_scale(), stored);
  detail::copy_codes<LowFirst>(tensor, codes);
  store_scales<Layout>(lines.count, lines.blocks, scales.stored(), block_scales);
  return stored;
}

}  // namespace tq::layouts::nvidia

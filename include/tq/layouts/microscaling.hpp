// SPDX-License-Identifier: MIT
#pragma once
// The bytes of OCP Microscaling tensors: scales apart from the codes, or one before each block.

#include <tq/core/formats.hpp>
#include <tq/core/quantized_tensor.hpp>
#include <tq/layouts/detail/bit_fields.hpp>
#include <tq/layouts/detail/coded_tensor.hpp>
#include <tq/layouts/scale_layout.hpp>
#include <tq/numeric/rounding.hpp>
#include <tq/ops/detail/checks.hpp>
#include <tq/ops/pack.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tq::detail {
template <class Order>
constexpr bool fills_block() noexcept {
  std::uint64_t taken = 0;
  for (std::size_t i = 0; i < 32; ++i)
    if (Order::slot(i) < 32) taken |= std::uint64_t{1} << Order::slot(i);
  return taken == 0xffffffffu;
}
}  // namespace tq::detail

/// A tensor [..., K] in blocks of 32 along its last axis; real = value(code) * 2^(X - 127) with the
/// scale byte X of the block. X = 255 makes every value of the block NaN, whatever its codes. The
/// last block of a line may be shorter.
/// Source: OCP Microscaling Formats (MX) v1.0, section 5; how it lies in memory is left to others.
namespace tq::layouts::microscaling {

/// `mxfp8_e4m3` to `mxint8`: any `Microscaled<...>` whose codes have at most 8 bits.
template <class P>
concept Format =
    CodedParams<P> && std::same_as<P, Microscaled<typename P::type>> && P::type::bits <= 8;

/// Codes packed by `Codes` over the flattened tensor, and the scale bytes [..., ceil(K / 32)]
/// apart:
///
///     codes   uint8 [ceil(n * bits / 8)]   of 4 and 8 bits as torchao and safetensors have them
///     scales  uint8, laid out by `Layout`
/// Codes of 6 bits are dense; four of them fill 3 bytes. There is no standard for them: the 6-bit
/// bytes of torchao group their bits otherwise. Early torchao had the first 4-bit code in the high
/// nibble (`HighFirst`).
template <BitPacking Codes = LowFirst, ScaleLayout Layout = ScaleRows>
struct Separate {
  using packing = Codes;
  using scale_layout = Layout;
};

/// Code i of a block is its i-th.
struct Sequential {
  static constexpr std::size_t slot(std::size_t i) noexcept { return i; }
};

/// 4-bit codes as in GGUF: byte j of a block has code j in the low nibble and code j + 16 in the
/// high one.
struct Halves {
  static constexpr std::size_t slot(std::size_t i) noexcept { return i % 16 * 2 + i / 16; }
};

/// The place of the 32 codes of a block: code i takes bits [slot(i) * bits, (slot(i) + 1) * bits),
/// counted from the lowest bit of the first byte. Models: `Sequential`, `Halves`.
template <class O>
concept BlockOrder = requires(std::size_t i) {
  { O::slot(i) } -> std::same_as<std::size_t>;
  requires detail::fills_block<O>();  // every place is taken once
};

/// Blocks of 1 + 4 * bits bytes each: the scale byte, then the codes of the block. A short block is
/// filled up with the code of 0.
/// `Interleaved<Halves>` of `mxfp4` is GGUF's MXFP4. ggml writes its values as doubled integers
/// times 2^(X - 128), which is the same real number for X below 255; it knows no NaN, and takes
/// X = 255 for 2^128.
/// Source: ggml, ggml-common.h (block_mxfp4, kvalues_mxfp4) and ggml-impl.h
/// (ggml_e8m0_to_fp32_half).
template <BlockOrder Order>
struct Interleaved {
  using order = Order;
};

/// Bytes of a block of `Interleaved`.
template <Format Params>
inline constexpr std::size_t block_bytes = 1 + 4 * static_cast<std::size_t>(Params::type::bits);

}  // namespace tq::layouts::microscaling

namespace tq::detail {

template <class L>
inline constexpr bool is_separate = false;
template <class Codes, class Layout>
inline constexpr bool is_separate<layouts::microscaling::Separate<Codes, Layout>> = true;
template <class L>
inline constexpr bool is_interleaved = false;
template <class Order>
inline constexpr bool is_interleaved<layouts::microscaling::Interleaved<Order>> = true;

template <layouts::microscaling::Format Params, class L>
[[nodiscard]] Lines require_separate(const char* function, const Shape& shape, std::size_t codes,
                                     std::size_t scales) {
  using Layout = typename L::scale_layout;
  const Lines lines = require_lines<Params>(function, shape);
  require_matrix<Layout>(function, shape);
  require_count(function, "bytes of codes",
                L::packing::template bytes_for<typename Params::type>(shape.size()), codes);
  require_count(function, "bytes of scales", Layout::bytes_for(lines.count, lines.blocks), scales);
  return lines;
}

template <layouts::microscaling::Format Params>
[[nodiscard]] Lines require_interleaved(const char* function, const Shape& shape,
                                        std::size_t bytes) {
  const Lines lines = require_lines<Params>(function, shape);
  require_count(function, "bytes of blocks",
                require_product(function, "blocks", lines.count * lines.blocks,
                                layouts::microscaling::block_bytes<Params>),
                bytes);
  return lines;
}

}  // namespace tq::detail

namespace tq::layouts::microscaling {

/// Reads a tensor from codes and scales that lie apart.
/// Throws: `errc::shape_mismatch` for spans of other sizes; `errc::bad_axis` for rank 0;
/// `errc::bad_argument` for extents whose product overflows; `errc::unsupported` for scales in
/// tiles beyond rank 2.
template <Format Params, class L = Separate<>>
  requires detail::is_separate<L>
[[nodiscard]] QuantizedTensor<Params, typename L::packing> load_tensor(
    const Shape& shape, std::span<const std::uint8_t> codes, std::span<const std::uint8_t> scales) {
  const detail::Lines lines = detail::require_separate<Params, L>(
      "tq::layouts::microscaling::load_tensor", shape, codes.size(), scales.size());
  std::vector<std::uint8_t> stored(lines.count * lines.blocks);
  load_scales<typename L::scale_layout>(lines.count, lines.blocks, scales, stored);
  return detail::tensor_of<typename L::packing>(
      shape, Params({}, Scales<float8_e8m0fnu>(std::move(stored))), codes);
}

/// Writes the codes and scales of a tensor.
/// Throws: as `load_tensor`. Nothing is written then.
template <class L = Separate<>, Format Params, Packing Pack>
  requires detail::is_separate<L>
void store_tensor(const QuantizedTensor<Params, Pack>& tensor, std::span<std::uint8_t> codes,
                  std::span<std::uint8_t> scales) {
  const detail::Lines lines = detail::require_separate<Params, L>(
      "tq::layouts::microscaling::store_tensor", tensor.shape(), codes.size(), scales.size());
  detail::copy_codes<typename L::packing>(tensor, codes);
  store_scales<typename L::scale_layout>(lines.count, lines.blocks,
                                         tensor.params().stored_scales().stored(), scales);
}

/// Reads a tensor from interleaved blocks; what follows a short block is ignored.
/// Throws: `errc::shape_mismatch` for another number of bytes; `errc::bad_axis` for rank 0;
/// `errc::bad_argument` for extents whose product overflows.
template <Format Params, class L>
  requires detail::is_interleaved<L>
[[nodiscard]] QuantizedTensor<Params> load_tensor(const Shape& shape,
                                                  std::span<const std::uint8_t> blocks) {
  using T = typename Params::type;
  const detail::Lines lines = detail::require_interleaved<Params>(
      "tq::layouts::microscaling::load_tensor", shape, blocks.size());
  std::vector<std::uint8_t> scales(lines.count * lines.blocks);
  Buffer<std::uint8_t> codes(shape.size());
  detail::for_each_block(lines, 32, [&](std::size_t b, std::size_t first, std::size_t n) {
    const auto block = blocks.subspan(b * block_bytes<Params>, block_bytes<Params>);
    scales[b] = block[0];
    std::array<std::uint8_t, 32> places;
    unpack_unchecked<T>(std::as_bytes(block.subspan(1)), std::span(places));
    for (std::size_t i = 0; i < n; ++i) codes.data()[first + i] = places[L::order::slot(i)];
  });
  QuantizedTensor<Params> out(shape, Params({}, Scales<float8_e8m0fnu>(std::move(scales))));
  pack_unchecked<T>(codes.span(), out.bytes());
  return out;
}

/// Writes the interleaved blocks of a tensor.
/// Throws: as `load_tensor`. Nothing is written then.
template <class L, Format Params, Packing Pack>
  requires detail::is_interleaved<L>
void store_tensor(const QuantizedTensor<Params, Pack>& tensor, std::span<std::uint8_t> blocks) {
  using T = typename Params::type;
  const detail::Lines lines = detail::require_interleaved<Params>(
      "tq::layouts::microscaling::store_tensor", tensor.shape(), blocks.size());
  Buffer<std::uint8_t> codes(tensor.size());
  unpack_unchecked<T, Pack>(tensor.bytes(), codes.span());
  const std::span<const std::uint8_t> scales = tensor.params().stored_scales().stored();
  const auto zero =
      static_cast<std::uint8_t>(T::format::template encode<Saturate>(0.0f, NearestEven{}, 0));
  detail::for_each_block(lines, 32, [&](std::size_t b, std::size_t first, std::size_t n) {
    const auto block = blocks.subspan(b * block_bytes<Params>, block_bytes<Params>);
    block[0] = scales[b];
    std::array<std::uint8_t, 32> places;
    for (std::size_t i = 0; i < 32; ++i)
      places[L::order::slot(i)] = i < n ? codes.data()[first + i] : zero;
    pack_unchecked<T>(std::span<const std::uint8_t>(places),
                      std::as_writable_bytes(block.subspan(1)));
  });
}

}  // namespace tq::layouts::microscaling

// SPDX-License-Identifier: MIT
#pragma once
// The 4-bit tensors of bitsandbytes: two codes a byte, the first in the high nibble, and absmax per
// block.

#include <tq/core/codebook.hpp>
#include <tq/core/element.hpp>
#include <tq/core/granularity.hpp>
#include <tq/core/packing.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/core/quantized_tensor.hpp>
#include <tq/core/scales.hpp>
#include <tq/layouts/detail/bit_fields.hpp>
#include <tq/layouts/detail/coded_tensor.hpp>
#include <tq/ops/backend/on.hpp>
#include <tq/ops/pack.hpp>

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// byte i = code[2 i] << 4 | code[2 i + 1], over the flattened tensor. A code is an index into a
/// code book (NF4, or the library's own FP4), which the bytes do not name. The low nibble after an
/// odd number of codes holds the code of the value 0.
/// real = value(code) * absmax of the block, in blocks of a power of two from 32 to 4096 (64 if
/// nothing else is said) over the flattened tensor; the last block may be shorter:
///
///     weight  uint8 [ceil(n / 2)]
///     absmax  float32 [ceil(n / block)]     0 for a block of zeros
/// With `compress_statistics` absmax is quantized itself, in blocks of 256 (`DoubleQuantized`):
///
///     absmax          uint8 [ceil(n / block)]           codes of `dynamic8`
///     nested_absmax   float32 [ceil(absmax / 256)]      absmax2 of its quantization state
///     nested_offset   float32, in the JSON text of the state
/// Files have their maps beside them (quant_map, nested_quant_map). `load_tensor` takes them for
/// those of `nf4`, `bnb_fp4` and `dynamic8`; versions differ in the last bits of the latter, so a
/// reader of files goes by the maps: `restore_absmax` and `dequantize_by_map`. 8-bit weights
/// (LLM.int8) are
///     weight  int8 [N, K]       real = code * SCB of its row / 127 (`dequantize_rows`)
///     SCB     float32 [N]
/// Source: bitsandbytes, bitsandbytes/backends/default/ops.py (quantize_4bit) and
/// bitsandbytes/functional.py (QuantState).
namespace tq::layouts::bitsandbytes {

/// The packing of the codes.
using Codes = HighFirst;

inline constexpr std::uint8_t nf4_zero = 7;  ///< the code of 0 in NF4
inline constexpr std::uint8_t fp4_zero = 0;  ///< the code of +0 in FP4

/// Bytes of n codes.
[[nodiscard]] constexpr std::size_t bytes_for(std::size_t n) noexcept {
  return Codes::bytes_for<uint4>(n);
}

/// Reads codes from 0 to 15, one per element. Options: a backend.
/// Throws: `errc::shape_mismatch` unless `bytes` has `bytes_for(codes.size())` bytes. Nothing is
/// written then.
template <Option... O, Backend B = tq::detail::backend_among<O...>>
void load(std::span<const std::uint8_t> bytes, std::span<std::uint8_t> codes, const O&... options) {
  static_cast<void>(tq::detail::choose<tq::detail::OptionKind::backend>(options...));
  detail::require_count("tq::layouts::bitsandbytes::load", "bytes", bytes_for(codes.size()),
                        bytes.size());
  unpack_unchecked<uint4, Codes, B>(std::as_bytes(bytes), codes);
}

/// Writes codes; `code_of_zero` fills the last nibble after an odd number of them. Options: a
/// backend.
/// Throws: as `load`; `errc::bad_argument` for codes above 15. Nothing is written then.
template <Option... O, Backend B = tq::detail::backend_among<O...>>
void store(std::span<const std::uint8_t> codes, std::uint8_t code_of_zero,
           std::span<std::uint8_t> bytes, const O&... options) {
  static_cast<void>(tq::detail::choose<tq::detail::OptionKind::backend>(options...));
  constexpr const char* function = "tq::layouts::bitsandbytes::store";
  detail::require_count(function, "bytes", bytes_for(codes.size()), bytes.size());
  detail::require_codes(errc::bad_argument, function, "codes", codes, uint4::qmin, uint4::qmax);
  detail::require_codes(errc::bad_argument, function, "a code of zero",
                        std::span<const std::uint8_t>(&code_of_zero, 1), uint4::qmin, uint4::qmax);
  pack_unchecked<uint4, Codes, B>(codes, std::as_writable_bytes(bytes));
  if (codes.size() % 2 != 0) bytes.back() = static_cast<std::uint8_t>(bytes.back() | code_of_zero);
}

/// The absmax of a file with `compress_statistics`, by the map of that file:
/// map[code] * nested_absmax[i / block] + offset, each step rounded to float32.
/// Throws: `errc::shape_mismatch` unless the map has 256 entries and `nested_absmax` one for every
/// `block` codes; `errc::bad_group_size` for a block of 0.
[[nodiscard]] inline std::vector<float> restore_absmax(std::span<const std::uint8_t> codes,
                                                       std::span<const float> map,
                                                       std::span<const float> nested_absmax,
                                                       std::size_t block, float offset);

/// Writes map[code] * absmax[i / block], rounded once to float32, for every code.
/// Throws: `errc::shape_mismatch` for spans of other sizes; `errc::bad_group_size` for a block of
/// 0; `errc::bad_argument` for a code that is no place in the map. Nothing is written then.
inline void dequantize_by_map(std::span<const std::uint8_t> codes, std::span<const float> map,
                              std::span<const float> absmax, std::size_t block,
                              std::span<float> out);

/// Writes code * SCB * (1 / 127) of int8 codes [N, K], each step rounded to float32.
/// Throws: `errc::shape_mismatch` unless there are as many outputs as codes, and whole rows of
/// them.
inline void dequantize_rows(std::span<const std::int8_t> codes, std::span<const float> scb,
                            std::span<float> out);

}  // namespace tq::layouts::bitsandbytes

namespace tq::detail {
template <class T>
inline constexpr bool is_bnb_element = std::same_as<T, nf4> || std::same_as<T, bnb_fp4>;
template <class G>
inline constexpr bool is_last_axis_group = false;
template <int Size>
inline constexpr bool is_last_axis_group<PerGroup<Size, -1>> = true;
}  // namespace tq::detail

namespace tq::layouts::bitsandbytes {

/// NF4 or the library's FP4 in blocks along the last axis, with plain or double-quantized scales:
/// `nf4_64`, `nf4_64_double`, `QuantParams<bnb_fp4, PerGroup<64>, Symmetric>`.
template <class P>
concept Format = CodedParams<P> && detail::is_bnb_element<typename P::type> &&
                 detail::is_last_axis_group<typename P::granularity_type> &&
                 (std::same_as<typename P::scale_type, float> ||
                  std::same_as<typename P::scale_type, DoubleQuantized>);

/// A format with absmax as it is; with absmax quantized.
template <class P>
concept PlainFormat = Format<P> && std::same_as<typename P::scale_type, float>;
template <class P>
concept NestedFormat = Format<P> && std::same_as<typename P::scale_type, DoubleQuantized>;

}  // namespace tq::layouts::bitsandbytes

namespace tq::detail {

// The blocks of a tensor. Throws unless those of its last axis are those of the flattened tensor.
template <layouts::bitsandbytes::Format Params>
[[nodiscard]] std::size_t require_bitsandbytes(const char* function, const Shape& shape,
                                               const typename Params::granularity_type& granularity,
                                               std::size_t bytes, std::size_t absmax) {
  const Lines lines = require_lines<Params>(function, shape, granularity);
  const auto size = static_cast<std::size_t>(granularity.size());
  if (size < 32 || size > 4096 || !std::has_single_bit(size))
    raise_expected(errc::bad_group_size, function, {"blocks of a power of two from 32 to 4096"},
                   {size});
  if (lines.count > 1 && lines.length % size != 0)
    raise_expected(
        errc::unsupported, function,
        {"a last axis in multiples of ", size, ", for blocks run over the flattened tensor"},
        {"shape ", shape.extents(), " (as [", shape.size(), "] it has them)"});
  require_count(function, "bytes", layouts::bitsandbytes::bytes_for(shape.size()), bytes);
  const std::size_t blocks = lines.count * lines.blocks;
  require_count(function, "entries of absmax", blocks, absmax);
  return blocks;
}

// "tq::layouts::bitsandbytes::load_tensor: expected absmax that is finite, got nan for block 7".
void require_absmax(const char* function, const char* what, const auto& values,
                    bool of_either_sign = false) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!is_finite(values[i]) || (values[i] < 0 && !of_either_sign))
      raise_expected(errc::bad_scale, function,
                     {what, " that is finite", of_either_sign ? "" : " and not negative"},
                     {values[i], " for block ", i});
}

// The entries of nested_absmax.
constexpr std::size_t nested_blocks(std::size_t blocks) noexcept {
  return blocks_along(blocks, DoubleQuantized::block);
}

// Codes of any packing, and the code of 0 after an odd number of them.
template <layouts::bitsandbytes::Format Params, Packing Pack>
void copy_bitsandbytes(const QuantizedTensor<Params, Pack>& tensor, std::span<std::uint8_t> bytes) {
  copy_codes<layouts::bitsandbytes::Codes>(tensor, bytes);
  if (tensor.size() % 2 != 0)
    bytes.back() = static_cast<std::uint8_t>(bytes.back() | Params::type::format::encode(0.0f));
}

}  // namespace tq::detail

namespace tq::layouts::bitsandbytes {

/// Reads a tensor. Blocks may lie along the last axis only where they do in the flattened tensor.
/// Throws: `errc::shape_mismatch` for spans of other sizes; `errc::bad_scale` for absmax that is
/// negative or not finite; `errc::bad_group_size` for blocks that the format does not have;
/// `errc::unsupported` for rank 2 and more with a last axis that is no multiple of the block;
/// `errc::bad_axis` for rank 0; `errc::bad_argument` for extents whose product overflows.
template <PlainFormat Params>
[[nodiscard]] QuantizedTensor<Params, Codes> load_tensor(
    const Shape& shape, std::span<const std::uint8_t> bytes, std::span<const float> absmax,
    const typename Params::granularity_type& granularity = typename Params::granularity_type{}) {
  static_cast<void>(detail::require_bitsandbytes<Params>(
      "tq::layouts::bitsandbytes::load_tensor", shape, granularity, bytes.size(), absmax.size()));
  detail::require_absmax("tq::layouts::bitsandbytes::load_tensor", "absmax", absmax);
  return detail::tensor_of<Codes>(
      shape, Params(granularity, std::vector<float>(absmax.begin(), absmax.end())), bytes);
}

/// Writes the bytes and absmax of a tensor.
/// Throws: as `load_tensor`. Nothing is written then.
template <PlainFormat Params, Packing Pack>
void store_tensor(const QuantizedTensor<Params, Pack>& tensor, std::span<std::uint8_t> bytes,
                  std::span<float> absmax) {
  static_cast<void>(detail::require_bitsandbytes<Params>(
      "tq::layouts::bitsandbytes::store_tensor", tensor.shape(), tensor.params().granularity(),
      bytes.size(), absmax.size()));
  detail::copy_bitsandbytes(tensor, bytes);
  std::ranges::copy(tensor.params().scales(), absmax.begin());
}

/// Reads a tensor whose absmax is quantized. Where the rebuilt absmax is below 0, it is 0.
/// Throws: as above; `errc::bad_scale` for `nested_absmax` and `nested_offset` that are not finite.
template <NestedFormat Params>
[[nodiscard]] QuantizedTensor<Params, Codes> load_tensor(
    const Shape& shape, std::span<const std::uint8_t> bytes, std::span<const std::uint8_t> absmax,
    std::span<const float> nested_absmax, float nested_offset,
    const typename Params::granularity_type& granularity = typename Params::granularity_type{}) {
  constexpr const char* function = "tq::layouts::bitsandbytes::load_tensor";
  const std::size_t blocks = detail::require_bitsandbytes<Params>(function, shape, granularity,
                                                                  bytes.size(), absmax.size());
  detail::require_count(function, "entries of nested_absmax", detail::nested_blocks(blocks),
                        nested_absmax.size());
  detail::require_absmax(function, "nested_absmax", nested_absmax, true);
  detail::require_absmax(function, "nested_offset", std::span(&nested_offset, 1), true);
  Scales<DoubleQuantized> scales(std::vector<std::uint8_t>(absmax.begin(), absmax.end()),
                                 std::vector<float>(nested_absmax.begin(), nested_absmax.end()),
                                 nested_offset);
  detail::require_absmax(function, "absmax, rebuilt from its codes,", scales.values());
  return detail::tensor_of<Codes>(shape, Params(granularity, std::move(scales)), bytes);
}

/// Writes the bytes, absmax and nested_absmax of a tensor; the result is nested_offset.
/// Throws: as `load_tensor`. Nothing is written then.
template <NestedFormat Params, Packing Pack>
[[nodiscard]] float store_tensor(const QuantizedTensor<Params, Pack>& tensor,
                                 std::span<std::uint8_t> bytes, std::span<std::uint8_t> absmax,
                                 std::span<float> nested_absmax) {
  constexpr const char* function = "tq::layouts::bitsandbytes::store_tensor";
  const std::size_t blocks = detail::require_bitsandbytes<Params>(
      function, tensor.shape(), tensor.params().granularity(), bytes.size(), absmax.size());
  detail::require_count(function, "entries of nested_absmax", detail::nested_blocks(blocks),
                        nested_absmax.size());
  const Scales<DoubleQuantized>& scales = tensor.params().stored_scales();
  detail::copy_bitsandbytes(tensor, bytes);
  std::ranges::copy(scales.stored(), absmax.begin());
  std::ranges::copy(scales.block_scales(), nested_absmax.begin());
  return scales.offset();
}

inline std::vector<float> restore_absmax(std::span<const std::uint8_t> codes,
                                         std::span<const float> map,
                                         std::span<const float> nested_absmax, std::size_t block,
                                         float offset) {
  detail::require_count("tq::layouts::bitsandbytes::restore_absmax", "entries of a map", 256,
                        map.size());
  std::vector<float> out(codes.size());
  dequantize_by_map(codes, map, nested_absmax, block, out);
  for (float& x : out) x += offset;
  return out;
}

inline void dequantize_by_map(std::span<const std::uint8_t> codes, std::span<const float> map,
                              std::span<const float> absmax, std::size_t block,
                              std::span<float> out) {
  constexpr const char* function = "tq::layouts::bitsandbytes::dequantize_by_map";
  if (block == 0)
    tq::detail::raise_expected(errc::bad_group_size, function, {"blocks of at least 1"}, {0});
  detail::require_count(function, "outputs", codes.size(), out.size());
  detail::require_count(function, "entries of absmax", detail::blocks_along(codes.size(), block),
                        absmax.size());
  if (map.size() < 256)
    detail::require_codes(errc::bad_argument, function, "codes", codes, 0,
                          static_cast<std::int32_t>(map.size()) - 1);
  for (std::size_t i = 0; i < codes.size(); ++i)
    out[i] = detail::uncontracted(map[codes[i]] * absmax[i / block]);
}

inline void dequantize_rows(std::span<const std::int8_t> codes, std::span<const float> scb,
                            std::span<float> out) {
  constexpr const char* function = "tq::layouts::bitsandbytes::dequantize_rows";
  detail::require_count(function, "outputs", codes.size(), out.size());
  const std::size_t row = scb.empty() ? 0 : codes.size() / scb.size();
  detail::require_count(function, "codes in whole rows", row * scb.size(), codes.size());
  for (std::size_t i = 0; i < codes.size(); ++i)
    out[i] = static_cast<float>(codes[i]) * scb[i / row] * 7.874015718698502e-3f;
}

}  // namespace tq::layouts::bitsandbytes

// SPDX-License-Identifier: MIT
#pragma once
// unpack: blocks of GGUF files as quantized tensors.

#include <tq/core/buffer.hpp>
#include <tq/core/packing.hpp>
#include <tq/core/quantized_tensor.hpp>
#include <tq/core/shape.hpp>
#include <tq/error.hpp>
#include <tq/layouts/detail/bit_fields.hpp>
#include <tq/layouts/gguf/detail/block_fields.hpp>
#include <tq/layouts/gguf/detail/held_groups.hpp>
#include <tq/layouts/gguf/detail/stored_params.hpp>
#include <tq/layouts/gguf/params_of.hpp>
#include <tq/ops/backend/backend.hpp>
#include <tq/ops/detail/checks.hpp>
#include <tq/ops/pack.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace tq::layouts::gguf {

namespace detail {

// The number of blocks of a tensor whose last axis is in whole blocks. Throws:
// `errc::shape_mismatch`; `errc::bad_argument` for extents that memory cannot hold.
template <Block B>
[[nodiscard]] std::size_t block_count(const char* function, const Shape& shape) {
  static_cast<void>(tq::detail::require_extents(function, shape));
  const std::size_t row = shape.rank() == 0 ? 1 : shape[shape.rank() - 1];
  if (row % B::elements != 0)
    tq::detail::raise_expected(errc::shape_mismatch, function,
                               {"a last axis of a multiple of ", B::elements, " elements"}, {row});
  return shape.size() / B::elements;
}

// The tensor of `shape` that blocks hold, under parameters of the type `Params`: `params_of<B>` or
// `float_params_of<B>`.
template <class Params, Unpackable B, Backend Ops>
[[nodiscard]] QuantizedTensor<Params> unpack_as(std::span<const std::uint8_t> blocks,
                                                const Shape& shape) {
  constexpr const char* function = "tq::layouts::gguf::unpack";
  using Element = typename Params::type;
  using Fields = BlockFields<B>;
  const std::size_t count = block_count<B>(function, shape);
  tq::detail::require_count(function, "bytes of blocks", count * B::bytes, blocks.size());
  Buffer<code_of<B>> codes(shape.size());
  ParamsBuilder<Params> params(count * Fields::groups);
  for (std::size_t b = 0; b < count; ++b) {
    Fields fields;
    load_fields(blocks.data() + b * B::bytes, fields);
    for (std::size_t g = 0; g < Fields::groups; ++g) {
      params.require_scale(fields.scales[g], b);
      if constexpr (Params::has_offset) params.require_offset(fields.offsets[g], b);
      const std::int32_t zero =
          hold_group<B>(fields, g, codes.data() + b * B::elements + g * Fields::group);
      params.add(fields.scales[g], fields.offset(g), zero);
    }
    if constexpr (SuperBlockScale<typename Params::scale_type>) params.add_factors(fields.factors);
  }
  Buffer<std::byte> packed(LowFirst::bytes_for<Element>(shape.size()));
  pack_unchecked<Element, LowFirst, Ops>(codes.span(), packed.span());
  return {shape, std::move(params).take(), std::move(packed)};
}

}  // namespace detail

/// The tensor of `shape` that blocks hold, row-major, the last axis in whole blocks. Its values are
/// those of `dequantize` bit for bit, but for the sign of zeros, and no value becomes a float on
/// the way. Super-blocks keep their float16 and the whole numbers of their sub-blocks as they are
/// stored, without the signs, which codes and zero points have (`params_of`). Integers have no
/// scale of 0: the codes of a group under it become codes of the value 0 under the scale 1, or under
/// the number 1 of its super-block. Throws: `errc::shape_mismatch` for another number of bytes, and for rows that are no
/// whole blocks; `errc::bad_argument` for extents that memory cannot hold; `errc::bad_scale` for a
/// scale that is NaN or infinite (2^128 of MXFP4 and 480 of NVFP4, the codes 255, included), and
/// for a negative scale beside offsets; `errc::not_finite` for an offset that is NaN or infinite.
template <Unpackable B, Backend Ops = default_backend>
[[nodiscard]] QuantizedTensor<params_of<B>> unpack(std::span<const std::uint8_t> blocks,
                                                   const Shape& shape) {
  return detail::unpack_as<params_of<B>, B, Ops>(blocks, shape);
}

}  // namespace tq::layouts::gguf

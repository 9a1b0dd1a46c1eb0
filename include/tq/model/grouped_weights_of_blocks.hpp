// SPDX-License-Identifier: MIT
#pragma once
// grouped_weights_of_blocks: blocks of GGUF files as weights in groups.

#include <tq/core/buffer.hpp>
#include <tq/core/codebook.hpp>
#include <tq/core/element_lists.hpp>
#include <tq/core/shape.hpp>
#include <tq/error.hpp>
#include <tq/layouts/gguf/block.hpp>
#include <tq/layouts/gguf/detail/block_fields.hpp>
#include <tq/layouts/gguf/type.hpp>
#include <tq/layouts/gguf/unpack.hpp>
#include <tq/linear/detail/weight_levels.hpp>
#include <tq/linear/grouped_weights.hpp>
#include <tq/model/grouped_weights_of.hpp>
#include <tq/ops/backend/backend.hpp>
#include <tq/scheme/encoded_blocks.hpp>
#include <tq/scheme/type_list.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>

namespace tq {

namespace detail {

// Codes that name values of IQ4_NL, 4 bits each, under scales of either sign.
template <class B>
[[nodiscard]] GroupedCodes named_values(std::span<const std::uint8_t> blocks, const Shape& shape) {
  using Fields = layouts::gguf::detail::BlockFields<B>;
  constexpr const char* function = "tq::grouped_weights_of_blocks";
  const std::size_t count = layouts::gguf::detail::block_count<B>(function, shape);
  require_count(function, "bytes of blocks", count * B::bytes, blocks.size());
  GroupedCodes of{WeightLevels::of<iq4_nl>(),
                  shape,
                  Shape{1, Fields::group},
                  Buffer<std::uint8_t>(shape.size()),
                  {},
                  {},
                  {}};
  for (std::size_t b = 0; b < count; ++b) {
    Fields fields;
    layouts::gguf::detail::load_fields(blocks.data() + b * B::bytes, fields);
    for (const float scale : fields.scales)
      if (!is_finite(scale))
        raise_expected(errc::bad_scale, function, {"finite scales"}, {scale, " in block ", b});
    std::ranges::transform(fields.codes, of.packed.data() + b * B::elements,
                           [&](std::uint8_t code) { return of.map.pack(code); });
    of.scales.insert(of.scales.end(), std::begin(fields.scales), std::end(fields.scales));
  }
  return of;
}

}  // namespace detail

/// The weights for `GroupedLinear` of shape [outputs, inputs], the inputs in whole blocks: with the
/// values of `encoded_blocks`, and IQ4_NL and IQ4_XS in 4 bits a weight. Q4_K, Q5_K, Q2_K, Q4_1 and
/// Q5_1 have offsets.
///
///     const tq::GroupedLinear<tq::Int8PerGroup> layer(
///         tq::grouped_weights_of_blocks(tensor.type, blocks, tq::Shape{outputs, inputs}), bias);
///
/// Throws: as `encoded_blocks` and `GroupedWeights`.
template <class Types = grouped_elements, class ScaleTypes = all_scales,
          Backend B = default_backend>
[[nodiscard]] GroupedWeights grouped_weights_of_blocks(layouts::gguf::Type type,
                                                       std::span<const std::uint8_t> blocks,
                                                       const Shape& shape) {
  using layouts::gguf::Type;
  if (type == Type::iq4_nl)
    return GroupedWeights(detail::named_values<layouts::gguf::IQ4_NL>(blocks, shape));
  if (type == Type::iq4_xs)
    return GroupedWeights(detail::named_values<layouts::gguf::IQ4_XS>(blocks, shape));
  return grouped_weights_of<Types, ScaleTypes, B>(
      encoded_blocks<Types, ScaleTypes, B>(type, blocks, shape));
}

}  // namespace tq

// SPDX-License-Identifier: MIT
#pragma once
// grouped_weights_of: encoded tensors, as they come from files, as weights in groups.

#include <tq/core/buffer.hpp>
#include <tq/core/codebook.hpp>
#include <tq/core/element_lists.hpp>
#include <tq/core/float_elements.hpp>
#include <tq/linear/detail/weight_levels.hpp>
#include <tq/linear/grouped_weights.hpp>
#include <tq/model/byte_weights_of.hpp>
#include <tq/model/detail/weight_parts.hpp>
#include <tq/ops/backend/backend.hpp>
#include <tq/scheme/encoded_layout.hpp>
#include <tq/scheme/type_list.hpp>
#include <tq/scheme/visit.hpp>

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace tq {

/// The elements that weights in groups may have: every `GroupedElement` of tq.
using grouped_elements =
    Joined<byte_integers, TypeList<float4_e2m1fn, nf4, bnb_fp4, iq4_nl, binary>>;

namespace detail {

// The codes and parameters of a tensor, packed by `map`, or by that of its type. Throws: as below.
template <class Types, class ScaleTypes, Backend B>
[[nodiscard]] GroupedCodes grouped_codes_of(const EncodedTensor& tensor,
                                            const WeightLevels* map = nullptr) {
  const WeightParts<Types, ScaleTypes, B> parts("tq::grouped_weights_of", tensor, true);
  GroupedCodes of{map != nullptr ? *map
                                 : with_name<WeightLevels>(tensor.spec.type, Types{},
                                                           []<class T>(std::type_identity<T>) {
                                                             return WeightLevels::of<T>();
                                                           }),
                  tensor.shape,
                  parts.block(),
                  Buffer<std::uint8_t>(tensor.shape.size()),
                  parts.scales(),
                  parts.zero_points(),
                  parts.offsets()};
  for (std::int32_t& zero : of.zeros) zero -= of.map.lower;
  parts.with_codes([&](auto codes) {
    std::ranges::transform(codes, of.packed.data(), [&](auto code) { return of.map.pack(code); });
  });
  return of;
}

}  // namespace detail

/// The weights for `GroupedLinear`, bit for bit as from the static type of `tensor`, [outputs,
/// inputs], of any granularity and with scales stored in any way.
///
///     const tq::GroupedLinear<tq::Int8PerRow> layer(tq::grouped_weights_of(tensor), bias);
///
/// Throws: `errc::unsupported` for a type that is not listed, with what is supported; as `decode`;
/// as `GroupedWeights`.
template <class Types = grouped_elements, class ScaleTypes = all_scales,
          Backend B = default_backend>
[[nodiscard]] GroupedWeights grouped_weights_of(const EncodedTensor& tensor) {
  return GroupedWeights(detail::grouped_codes_of<Types, ScaleTypes, B>(tensor));
}

}  // namespace tq

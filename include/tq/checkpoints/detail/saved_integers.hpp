// SPDX-License-Identifier: MIT
#pragma once
// SavedIntegers: an integer weight with unsigned codes and a zero point for every scale, the form
// that formats of packed integers are written from.

#include <tq/checkpoints/checkpoint_tensor.hpp>
#include <tq/checkpoints/detail/saved_codes.hpp>
#include <tq/checkpoints/detail/saved_parts.hpp>
#include <tq/checkpoints/integer_scheme.hpp>
#include <tq/checkpoints/linear_weight.hpp>
#include <tq/core/buffer.hpp>
#include <tq/core/element.hpp>
#include <tq/ops/backend/backend.hpp>
#include <tq/scheme/detail/encoded_codes.hpp>
#include <tq/scheme/encoded_layout.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tq::io::detail {

/// Codes of `scheme.bits` bits, packed `LowFirst`, with scales and zero points [outputs, groups].
struct SavedIntegers {
  Bytes codes;
  std::vector<float> scales;
  std::vector<std::int32_t> zero_points;
};

// Turns signed codes, packed, into unsigned ones.
template <Backend B>
void make_unsigned(std::span<std::byte> packed, const EncodedLayout& layout, std::size_t count) {
  Buffer<std::byte> codes(count);
  tq::detail::unpack_codes<B>(packed, codes.span(), layout);
  const auto half = static_cast<std::byte>(1u << (layout.bits - 1));
  for (std::byte& c : codes.span()) c ^= half;
  tq::detail::pack_codes<B>(codes.span(), packed, layout);
}

// The weight in that scheme. Throws: `errc::unsupported` for a weight of any other.
template <Backend B>
[[nodiscard]] SavedIntegers saved_integers(std::string_view format, const LinearWeight& layer,
                                           const IntegerScheme& scheme,
                                           const CheckpointTensor& weight) {
  require_plain(format, layer, weight);
  const EncodedTensor& t = weight.tensor;
  const EncodedLayout layout = tq::detail::checkpoint_layout(t);
  const std::string expected = "integers of " + std::to_string(scheme.bits) +
                               " bits in groups of " + std::to_string(scheme.group_inputs(layer)) +
                               " inputs";
  const std::size_t count = layer.outputs * scheme.groups(layer);
  const bool is_grouped = has_blocks(t, 1, scheme.group_inputs(layer));
  if (layout.kind != ElementKind::integer || layout.bits != scheme.bits || layout.has_offsets ||
      !is_grouped || t.scales.size() != count)
    refuse_saving(format, expected, to_string(t.spec));

  SavedIntegers out{copied(t.codes.span()), t.scales.values(), t.zero_points.values()};
  const std::int32_t half = 1 << (scheme.bits - 1);
  const bool is_signed = layout.type.min < 0;
  if (is_signed) make_unsigned<B>(out.codes, layout, t.shape.size());
  out.zero_points.resize(count, 0);
  if (is_signed)
    for (std::int32_t& z : out.zero_points) z += half;
  const auto is_half = [&](std::int32_t z) { return z == half; };
  if (scheme.is_symmetric && !std::ranges::all_of(out.zero_points, is_half))
    refuse_saving(format, "symmetric codes", "zero points other than " + std::to_string(half));
  return out;
}

}  // namespace tq::io::detail

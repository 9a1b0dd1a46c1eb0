// SPDX-License-Identifier: MIT
#pragma once
// save_grouped_weights, load_grouped_weights: weights in groups as bytes, to be kept beside the
// codes that they were made of. They begin as linear/detail/saved_format.hpp says, with "tqgroups",
// version 1 and the outputs of a panel as layout: 32, for every instruction set.
//
//   40  8   inputs of a group
//   48  4   v, the number of values of a code book, or 0 for integers
//   52  4   the lowest code of integers, signed, else 0
//   56  4   the largest code of integers, signed, else 0
//   60  4   1 where every group has a level of 0 of its own, 2 where it has an offset, their sum,
//   or 0 64  4   the level of 0 of all others, signed 68  4v  values of the code book, float32
//   ..      [panels][groups][32] scales, float32, over the divisor of the levels
//   ..      as many offsets, float32, where groups have offsets
//   ..      as many levels of 0, a byte each, where groups have their own
//   ..      panels of codes, in units as kernels/group_dot.hpp has them

#include <tq/core/buffer.hpp>
#include <tq/error.hpp>
#include <tq/kernels/group_dot.hpp>
#include <tq/linear/detail/group_layout.hpp>
#include <tq/linear/detail/saved_format.hpp>
#include <tq/linear/detail/weight_extents.hpp>
#include <tq/linear/detail/weight_levels.hpp>
#include <tq/linear/grouped_weights.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tq {

namespace detail {

struct GroupedFormat : SavedFormat {
  static constexpr std::size_t group_at = 40, values_at = 48, lowest_at = 52, largest_at = 56,
                               own_at = 60, zero_at = 64;
};
inline constexpr GroupedFormat grouped_format{{"tq::load_grouped_weights", "tqgroups", 1, 68}};

[[nodiscard]] inline std::int32_t signed_at(std::span<const std::byte> bytes,
                                            std::size_t at) noexcept {
  return std::bit_cast<std::int32_t>(number_at<std::uint32_t>(bytes, at));
}
[[nodiscard]] inline float float_at(std::span<const std::byte> bytes, std::size_t at) noexcept {
  return std::bit_cast<float>(number_at<std::uint32_t>(bytes, at));
}
inline void put_floats(std::span<std::byte> bytes, std::size_t at,
                       std::span<const float> values) noexcept {
  for (const float v : values) {
    put_number(bytes, at, std::bit_cast<std::uint32_t>(v));
    at += sizeof v;
  }
}

// The values of the saved codes. Throws: `errc::malformed`.
[[nodiscard]] inline WeightLevels saved_map(std::span<const std::byte> bytes) {
  constexpr auto& format = grouped_format;
  const auto count = number_at<std::uint32_t>(bytes, format.values_at);
  const std::int64_t lowest = signed_at(bytes, format.lowest_at),
                     largest = signed_at(bytes, format.largest_at);
  if (count > 16 || bytes.size() - format.header < 4 * count)
    format.refuse(errc::malformed, "at most 16 values that fit the bytes", std::to_string(count));
  if (lowest < -255 || largest > 255 || largest < lowest || largest - lowest > 255)
    format.refuse(errc::malformed, "codes of at most 8 bits",
                  std::to_string(lowest) + " to " + std::to_string(largest));
  if (count == 0)
    return WeightLevels::of_integers(static_cast<std::int32_t>(lowest),
                                     static_cast<std::int32_t>(largest));
  std::array<float, 16> values{};
  for (std::size_t i = 0; i < count; ++i) values[i] = float_at(bytes, format.header + 4 * i);
  return WeightLevels::of_values(std::span(values).first(count));
}

// Where the saved parameters and codes are.
struct SavedGroups {
  GroupLayout layout;
  std::span<const std::byte> scales, offsets, zeros, codes;
};

// Throws: `errc::malformed` for sizes that the bytes have not.
[[nodiscard]] inline SavedGroups saved_groups(std::span<const std::byte> bytes,
                                              const SavedSizes& sizes, const WeightLevels& map) {
  constexpr auto& format = grouped_format;
  const auto group = number_at<std::uint64_t>(bytes, format.group_at);
  const auto rest = bytes.subspan(format.header + 4 * map.count);
  if (sizes.outputs > format.most || sizes.inputs > format.most || group == 0 ||
      group > format.most || !bounds_weights(Shape{sizes.outputs, sizes.inputs}))
    format.refuse_sizes(bytes, sizes);
  const GroupLayout layout(sizes.outputs, sizes.inputs, group, map.width);
  // Before any product is computed, which might overflow.
  const std::size_t row = 4 * kernels::group_columns * layout.groups(), panels = layout.panels();
  if (panels != 0 && row > rest.size() / panels) format.refuse_sizes(bytes, sizes);
  const auto own = number_at<std::uint32_t>(bytes, format.own_at);
  const std::size_t scales = 4 * layout.parameters(), offsets = (own & 2u) != 0 ? scales : 0,
                    zeros = (own & 1u) != 0 ? layout.parameters() : 0, codes = layout.code_bytes();
  if (own > 3 || rest.size() != scales + offsets + zeros + codes) format.refuse_sizes(bytes, sizes);
  return {layout, rest.first(scales), rest.subspan(scales, offsets),
          rest.subspan(scales + offsets, zeros), rest.last(codes)};
}

// The codes before they were packed, in blocks of a group of one output.
[[nodiscard]] inline GroupedCodes saved_codes(const SavedGroups& saved, const WeightLevels& map,
                                              std::int32_t zero) {
  const GroupLayout& layout = saved.layout;
  GroupedCodes out{map,
                   Shape{layout.outputs(), layout.inputs()},
                   Shape{1, layout.group()},
                   Buffer<std::uint8_t>(layout.outputs() * layout.inputs()),
                   {},
                   {},
                   {}};
  std::uint8_t* to = out.packed.data();
  const auto* codes = reinterpret_cast<const std::uint8_t*>(saved.codes.data());
  for (std::size_t n = 0; n < layout.outputs(); ++n)
    for (std::size_t g = 0; g < layout.groups(); ++g) {
      const std::size_t at = layout.parameter(n, g);
      out.scales.push_back(float_at(saved.scales, 4 * at) * static_cast<float>(map.divisor));
      if (!saved.offsets.empty()) out.offsets.push_back(float_at(saved.offsets, 4 * at));
      if (!saved.zeros.empty()) out.zeros.push_back(std::to_integer<std::int32_t>(saved.zeros[at]));
      else if (zero != map.zero) out.zeros.push_back(zero);
      const std::size_t count = std::min(layout.group(), layout.inputs() - g * layout.group());
      for (std::size_t i = 0; i < count; ++i) *to++ = layout.code(codes, n, g, i);
    }
  return out;
}

}  // namespace detail

/// The bytes of weights in groups, with their layout. Throws: std::bad_alloc.
[[nodiscard]] inline std::vector<std::byte> save_grouped_weights(const GroupedWeights& weights) {
  constexpr auto& format = detail::grouped_format;
  const WeightLevels& map = weights.map();
  const std::size_t scales_at = format.header + 4 * map.count,
                    offsets_at = scales_at + 4 * weights.scales().size(),
                    zeros_at = offsets_at + 4 * weights.offsets().size(),
                    codes_at = zeros_at + weights.zeros().size();
  std::vector<std::byte> bytes(codes_at + weights.codes().size());
  const auto put = [&](std::size_t at, std::int32_t number) {
    detail::put_number(bytes, at, std::bit_cast<std::uint32_t>(number));
  };
  detail::put_number(bytes, format.group_at, std::uint64_t{weights.group_size()});
  put(format.values_at, static_cast<std::int32_t>(map.count));
  put(format.lowest_at, map.is_coded ? 0 : map.lower);
  put(format.largest_at, map.is_coded ? 0 : map.lower + map.highest);
  put(format.own_at, (weights.has_zero_points() ? 1 : 0) + (weights.has_offsets() ? 2 : 0));
  put(format.zero_at, map.zero);
  detail::put_floats(bytes, format.header, std::span(map.reals).first(map.count));
  detail::put_floats(bytes, scales_at, weights.scales());
  detail::put_floats(bytes, offsets_at, weights.offsets());
  const auto copy = [&](std::span<const std::uint8_t> from, std::size_t at) {
    std::ranges::copy(std::as_bytes(from), bytes.begin() + static_cast<std::ptrdiff_t>(at));
  };
  copy(weights.zeros(), zeros_at);
  copy(weights.codes(), codes_at);
  format.seal(bytes, {std::uint32_t{kernels::group_columns}, weights.outputs(), weights.inputs()});
  return bytes;
}

/// The weights that were saved. All instruction sets have the same layout: nothing is packed anew.
/// Throws: `errc::malformed` for bytes that are no such weights, or not all of them, or not as they
/// were written; `errc::unsupported` for a version or a layout that is not known; as
/// `GroupedWeights` for parts that cannot be weights.
[[nodiscard]] inline GroupedWeights load_grouped_weights(std::span<const std::byte> bytes) {
  constexpr auto& format = detail::grouped_format;
  const detail::SavedSizes sizes = format.open(bytes);
  if (sizes.layout != kernels::group_columns)
    format.refuse(errc::unsupported,
                  "panels of " + std::to_string(kernels::group_columns) + " outputs",
                  std::to_string(sizes.layout));
  const WeightLevels map = detail::saved_map(bytes);
  const detail::SavedGroups saved = detail::saved_groups(bytes, sizes, map);
  GroupedWeights weights(detail::saved_codes(saved, map, detail::signed_at(bytes, format.zero_at)));
  // Whatever stands in the header or in paddings that is not packed so was not written by a save.
  if (!std::ranges::equal(save_grouped_weights(weights), bytes))
    format.refuse(errc::malformed, "the bytes that these weights are saved as", "others");
  return weights;
}

}  // namespace tq

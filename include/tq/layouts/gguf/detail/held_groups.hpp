// SPDX-License-Identifier: MIT
#pragma once
// Groups of blocks as parameters hold them, with positive scales, and back.

#include <tq/layouts/gguf/code_book.hpp>
#include <tq/layouts/gguf/detail/block_fields.hpp>
#include <tq/layouts/gguf/params_of.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tq::layouts::gguf::detail {

template <class B>
inline constexpr bool holds_values = is_block_of<B, IQ4_NL, IQ4_XS>;
template <class B>
using code_of = typename params_of<B>::code_type;

// Zero points under positive and under negative scales of a block.
template <Unpackable B>
inline constexpr std::array<std::int32_t, 2> held_zeros{zero_code<B>,
                                                        params_of<B>::type::qmax - zero_code<B>};

// Writes the codes of group g as parameters have them, and makes its scale positive: of a negative
// scale codes are mirrored, and of a scale of 0 all codes mean 0 under the scale 1. Returns the
// zero point, or 0 where the symmetry has no zero points.
template <Unpackable B>
std::int32_t hold_group(BlockFields<B>& f, std::size_t g, code_of<B>* to) noexcept {
  using Params = params_of<B>;
  constexpr std::size_t group = BlockFields<B>::group;
  const std::uint8_t* const codes = f.codes + g * group;
  float& scale = f.scales[g];
  const bool is_mirrored = std::signbit(scale), is_nothing = scale == 0.0f;
  const auto write = [&](const auto& held, int nothing) {
    for (std::size_t i = 0; i < group; ++i)
      to[i] = static_cast<code_of<B>>(is_nothing ? nothing : held(codes[i]));
    scale = is_nothing ? 1.0f : std::fabs(scale);
  };
  if constexpr (Params::has_zero_point) {
    const std::int32_t zero = held_zeros<B>[is_mirrored ? 1 : 0];
    write([&](int q) { return is_mirrored ? Params::type::qmax - q : q; }, zero);
    return zero;
  } else if constexpr (holds_values<B>) {
    const auto value = [](int q) {
      return static_cast<int>(iq4_values[static_cast<std::size_t>(q)]);
    };
    write([&](int q) { return is_mirrored ? -value(q) : value(q); }, 0);
  } else if constexpr (Params::has_offset) {
    write([](int q) { return q; }, 0);
  } else {  // floats and code books have the scale 0
    for (std::size_t i = 0; i < group; ++i)
      to[i] =
          static_cast<code_of<B>>(std::same_as<B, Q1_0> && is_mirrored ? 1 - codes[i] : codes[i]);
    scale = std::fabs(scale);
  }
  return 0;
}

// The codes of the values of IQ4_NL, by 128 + value; 255 for integers that are no values.
inline constexpr std::array<std::uint8_t, 257> iq4_codes = [] {
  std::array<std::uint8_t, 257> codes{};
  codes.fill(255);
  for (std::size_t q = 0; q < 16; ++q)
    codes[static_cast<std::size_t>(128 + static_cast<int>(iq4_values[q]))] =
        static_cast<std::uint8_t>(q);
  return codes;
}();
// Codes of values; false if they are neither all values nor all negated values of IQ4_NL, which
// have no number in common.
[[nodiscard]] inline bool restore_values(std::span<const std::int8_t> values, std::uint8_t* codes,
                                         float& scale) noexcept {
  for (const int sign : {1, -1}) {
    const auto code = [&](std::int8_t v) {
      return iq4_codes[static_cast<std::size_t>(128 + sign * v)];
    };
    std::ranges::transform(values, codes, code);
    if (std::ranges::find(codes, codes + values.size(), 255) != codes + values.size()) continue;
    scale *= static_cast<float>(sign);
    return true;
  }
  return false;
}

// The reverse of `hold_group` for codes under a positive scale, which f has: gives it its sign, or
// makes it 0 where codes that all mean 0 stand under the scale of such (`is_least`). Returns false
// for codes, or a zero point, that no group of the format is held as.
template <Unpackable B>
[[nodiscard]] bool restore_group(std::span<const code_of<B>> held, std::int32_t zero, bool is_least,
                                 BlockFields<B>& f, std::size_t g) noexcept {
  using Params = params_of<B>;
  std::uint8_t* const codes = f.codes + g * BlockFields<B>::group;
  float& scale = f.scales[g];
  const bool is_nothing = is_least && !CodedElement<typename Params::type> &&
                          std::ranges::all_of(held, [&](int q) { return q == zero; });
  if (is_nothing) scale = 0.0f;
  if constexpr (holds_values<B>) {
    if (!is_nothing) return restore_values(held, codes, scale);
    std::fill_n(codes, held.size(), std::uint8_t{8});  // of the value 1, the nearest to 0
    return true;
  } else if constexpr (Params::has_zero_point) {
    const bool is_mirrored = zero == held_zeros<B>[1];
    if (!is_mirrored && zero != held_zeros<B>[0]) return false;
    if (is_mirrored) scale = -scale;
    std::ranges::transform(held, codes, [&](int q) {
      return static_cast<std::uint8_t>(is_mirrored ? Params::type::qmax - q : q);
    });
    return !std::same_as<B, TQ1_0> ||
           std::ranges::none_of(codes, codes + held.size(), [](int q) { return q > 2; });
  } else {
    std::ranges::transform(held, codes, [](auto q) { return static_cast<std::uint8_t>(q); });
    return true;
  }
}

}  // namespace tq::layouts::gguf::detail

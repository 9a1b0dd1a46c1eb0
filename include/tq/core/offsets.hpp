// SPDX-License-Identifier: MIT
#pragma once
// Offsets as they are stored, in the type of the scales, and how they are made of ranges.

#include <tq/core/element.hpp>
#include <tq/core/float_elements.hpp>
#include <tq/core/scales.hpp>
#include <tq/core/symmetry.hpp>
#include <tq/numeric/numerics.hpp>
#include <tq/numeric/rounding.hpp>

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace tq {

namespace detail {
template <class S>
inline constexpr bool is_offset_type =
    std::same_as<S, float> || std::same_as<S, float16> || std::same_as<S, bfloat16>;
}  // namespace detail

/// A type offsets can be stored as: float, `float16`, `bfloat16`, and `SuperBlock<...>` where its
/// header is included.
template <class S>
concept OffsetType = detail::is_offset_type<S>;

/// A type scales can be stored as under this symmetry: where it has offsets, these have the same.
template <class S, class Symmetry>
concept ScaleTypeFor = ScaleType<S> && (!OffsetSymmetry<Symmetry> || OffsetType<S>);

/// The offsets of a tensor as they are stored: real = code * scale + offset.
template <OffsetType S>
using Offsets = Scales<S>;

namespace detail {

// code * scale + offset, rounded twice.
[[nodiscard]] constexpr float value_at(std::int32_t code, float scale, float offset) noexcept {
  return uncontracted(static_cast<float>(code) * scale) + offset;
}

// The stored offset nearest to `offset`, or nearer to 0 than that until `is_allowed`, as 0 is.
template <OffsetType S, class Allowed>
[[nodiscard]] typename Scales<S>::stored_type stored_offset(float offset,
                                                            const Allowed& is_allowed) {
  if constexpr (std::same_as<S, float>) {
    while (!is_allowed(offset))
      offset = std::bit_cast<float>(std::bit_cast<std::uint32_t>(offset) - 1u);
    return offset;
  } else {
    auto code =
        static_cast<std::uint16_t>(S::format::template encode<Saturate>(offset, NearestEven{}, 0));
    while (!is_allowed(S::format::decode(code))) --code;
    return code;
  }
}

}  // namespace detail

/// The offset that an element, a symmetry and numerics give a range beside its scale, as values.
struct OffsetFit {
  CodeRange codes;
  float (*exact)(Range, float scale);  ///< the offset before it is stored
};
template <Element T, SymmetryFor<T> S, NumericsPolicy N>
  requires OffsetSymmetry<S>
inline constexpr OffsetFit offset_fit{S::template codes<T>(), [](Range r, float scale) {
                                        return S::template offset<T, typename N::range_arithmetic>(
                                            r, scale);
                                      }};

/// The offsets that fit `ranges` beside scales as they are stored, one each: by the formula of the
/// symmetry in the arithmetic of the numerics, then rounded to be stored, what is too large to the
/// largest. Every code decodes to a finite value: where one would not, the offset is the nearest
/// with which it does. Precondition: code * scale is finite for every code.
template <OffsetType Stored>
[[nodiscard]] Offsets<Stored> offsets_for(std::span<const Range> ranges, const auto& scales,
                                          const OffsetFit& how) {
  constexpr double most = double(std::numeric_limits<float>::max());
  const CodeRange codes = how.codes;
  std::vector<typename Offsets<Stored>::stored_type> out(ranges.size());
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const float scale = scales[i], exact = how.exact(ranges[i], scale);
    const double lowest = -most - double(static_cast<float>(codes.min) * scale),
                 highest = most - double(static_cast<float>(codes.max) * scale);
    out[i] = detail::stored_offset<Stored>(
        static_cast<float>(std::clamp(double(exact), lowest, highest)), [&](float offset) {
          return detail::is_finite(detail::value_at(codes.min, scale, offset)) &&
                 detail::is_finite(detail::value_at(codes.max, scale, offset));
        });
  }
  return Offsets<Stored>(std::move(out));
}
template <Element T, SymmetryFor<T> S, NumericsPolicy N, OffsetType Stored>
  requires OffsetSymmetry<S>
[[nodiscard]] Offsets<Stored> offsets_for(std::span<const Range> ranges, const auto& scales) {
  return offsets_for<Stored>(ranges, scales, offset_fit<T, S, N>);
}

}  // namespace tq

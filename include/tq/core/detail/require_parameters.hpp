// SPDX-License-Identifier: MIT
#pragma once
// Checks of scales, zero points and offsets, with the texts of their errors.

#include <tq/core/element.hpp>
#include <tq/error.hpp>
#include <tq/numeric/code_range.hpp>
#include <tq/numeric/numerics.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace tq::detail {

// Without branches: of many scales at once.
constexpr bool valid_scale(float s) noexcept {
  return (s > 0.0f) & (s <= std::numeric_limits<float>::max());
}
// Formats of blocks also know a scale of 0 (nothing but zeros) and, where it is a power of two, of
// NaN (no numbers).
template <class Type, class Scale>
constexpr bool valid_scale_of(float s) noexcept {
  bool valid = valid_scale(s);
  if constexpr (CodedElement<Type>) {
    valid |= s == 0.0f;
    if constexpr (CodedElement<Scale>)
      if constexpr (std::same_as<typename Scale::format, ExponentFormat>) valid |= s != s;
  }
  return valid;
}

// Texts are made in functions that are no templates, once for all types.
[[noreturn]] inline void refuse_scale_count(const char* who, std::size_t got) {
  raise_expected(errc::shape_mismatch, who, {"one scale per tensor"}, {got});
}
[[noreturn]] inline void refuse_count(const char* who, const char* what, std::size_t scales,
                                      std::size_t got) {
  raise_expected(errc::shape_mismatch, who, {"as many ", what, " as scales (", scales, ")"}, {got});
}
[[noreturn]] inline void refuse_number(errc e, const char* who, const char* expected, float got,
                                       std::size_t i) {
  raise_expected(e, who, {expected}, {got, " at parameter ", i});
}
[[noreturn]] inline void refuse_zero_point(const char* who, CodeRange codes, std::int32_t got,
                                           std::size_t i) {
  raise_expected(errc::bad_zero_point, who, {"zero points in [", codes.min, ", ", codes.max, "]"},
                 {got, " at parameter ", i});
}

// Throw unless parameters may have these scales, and these offsets or zero points beside `count`
// scales.
template <class Params>
constexpr void require_scales(const char* who, const auto& scales) {
  constexpr auto is_valid = valid_scale_of<typename Params::type, typename Params::scale_type>;
  if (Params::is_per_tensor && scales.size() != 1) refuse_scale_count(who, scales.size());
  unsigned invalid = 0;  // of all of them first: a loop for vectors
  for (const float s : scales) invalid |= is_valid(s) ? 0u : 1u;
  if (invalid == 0) return;
  std::size_t i = 0;
  while (is_valid(scales[i])) ++i;
  refuse_number(errc::bad_scale, who, "positive finite scales", scales[i], i);
}
constexpr void require_offsets(const char* who, std::size_t count, const auto& offsets) {
  if (offsets.size() != count) refuse_count(who, "offsets", count, offsets.size());
  for (std::size_t i = 0; i < offsets.size(); ++i)
    if (!is_finite(offsets[i]))
      refuse_number(errc::not_finite, who, "finite offsets", offsets[i], i);
}
template <class Params>
constexpr void require_zero_points(const char* who, std::size_t count, const auto& zero_points) {
  constexpr CodeRange codes = Params::codes;
  if (zero_points.size() != count) refuse_count(who, "zero points", count, zero_points.size());
  for (std::size_t i = 0; i < zero_points.size(); ++i)
    if (zero_points[i] < codes.min || zero_points[i] > codes.max)
      refuse_zero_point(who, codes, zero_points[i], i);
}

}  // namespace tq::detail

// SPDX-License-Identifier: MIT
#pragma once
// LevelMap: codes of an element type as unsigned levels, of which products are summed as integers.

#include <tq/core/element.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tq {

/// An element whose codes linear layers take in groups: integers of up to 8 bits, code books and
/// floats of up to 4.
template <class T>
concept GroupedElement = (IntegerElement<T> && T::bits <= 8) || (CodedElement<T> && T::bits <= 4);

/// How the codes of a type are packed, in `width` bits each (2, 3, 4 or 8), and what they stand
/// for: (level - zero) / divisor. Of integers the level is code - qmin. Code books and floats whose
/// values are integers, or halves, have levels as well; from 16 levels on a code is packed, and its
/// level looked up in `table`. Those of others, such as `nf4`, have no levels, but `reals`.
struct LevelMap {
  int width = 8;
  bool is_coded = false;  ///< no integers
  bool has_levels = true, has_table = false;
  std::int32_t highest = 0;  ///< the largest level
  std::int32_t zero = 0;     ///< of the value 0, where there are no zero points
  std::int32_t divisor = 1;
  std::int32_t lower = 0;                 ///< of integers: the code of level 0
  std::array<std::uint8_t, 16> packed{};  ///< of code books: what a code is packed as
  std::array<std::uint8_t, 16> table{};   ///< levels of packed codes
  std::array<float, 16> reals{};
  std::uint8_t padding = 0;  ///< of code books: the packed code of the smallest magnitude

  template <GroupedElement T>
  [[nodiscard]] static constexpr LevelMap of() noexcept;

 private:
  // Sets the levels of values times `factor`, if they are integers that a byte has room for.
  constexpr bool take_levels(const std::array<float, 16>& values, std::size_t count,
                             std::int32_t factor) noexcept {
    std::array<std::int32_t, 16> scaled{};
    for (std::size_t i = 0; i < count; ++i) {
      const float v = values[i] * static_cast<float>(factor);
      if (!(v >= -255.0f && v <= 255.0f)) return false;
      scaled[i] = static_cast<std::int32_t>(v);
      if (static_cast<float>(scaled[i]) != v) return false;
    }
    const auto [low, high] =
        std::minmax_element(scaled.begin(), scaled.begin() + static_cast<std::ptrdiff_t>(count));
    zero = -*low;
    highest = *high - *low;
    if (highest > 255) return false;
    divisor = factor;
    for (std::size_t i = 0; i < count; ++i) table[i] = static_cast<std::uint8_t>(scaled[i] - *low);
    return true;
  }
};

namespace detail {
constexpr int level_width(std::int32_t highest) noexcept {
  const auto bits = static_cast<int>(std::bit_width(static_cast<std::uint32_t>(highest)));
  return bits <= 2 ? 2 : bits <= 4 ? bits : 8;
}
}  // namespace detail

template <GroupedElement T>
constexpr LevelMap LevelMap::of() noexcept {
  LevelMap map;
  if constexpr (IntegerElement<T>) {
    map.lower = T::qmin;
    map.zero = -T::qmin;
    map.highest = T::qmax - T::qmin;
    map.width = detail::level_width(map.highest);
  } else {
    constexpr std::size_t count = [] {
      if constexpr (requires { T::format::size; }) return std::size_t{T::format::size};
      else return std::size_t{1} << T::bits;
    }();
    for (std::size_t i = 0; i < count; ++i)
      map.reals[i] = T::format::decode(static_cast<std::uint32_t>(i));
    map.is_coded = true;
    map.has_levels = map.take_levels(map.reals, count, 1) || map.take_levels(map.reals, count, 2);
    map.has_table = map.has_levels && map.highest > 15;
    const bool keeps_codes = map.has_table || !map.has_levels;
    map.width = detail::level_width(keeps_codes ? 15 : map.highest);
    const auto magnitude = [&](std::size_t i) {
      return map.reals[i] < 0 ? -map.reals[i] : map.reals[i];
    };
    std::size_t least = 0;
    for (std::size_t i = 0; i < count; ++i) {
      map.packed[i] = keeps_codes ? static_cast<std::uint8_t>(i) : map.table[i];
      if (magnitude(i) < magnitude(least)) least = i;
    }
    map.padding = map.packed[least];
  }
  return map;
}

}  // namespace tq

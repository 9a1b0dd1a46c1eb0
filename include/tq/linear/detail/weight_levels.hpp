// SPDX-License-Identifier: MIT
#pragma once
// WeightLevels: codes of an element type as unsigned levels, of which products are summed as
// integers.

#include <tq/core/element.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tq {

/// An element whose codes linear layers take in groups: integers of up to 8 bits, code books and
/// floats of up to 4.
template <class T>
concept GroupedElement = (IntegerElement<T> && T::bits <= 8) || (CodedElement<T> && T::bits <= 4);

/// How the codes of a type are packed, in `width` bits each (2, 3, 4 or 8), and what they stand
/// for: (level - zero) / divisor. Of integers the level is code - qmin. Code books and floats whose
/// values are integers, or halves, have levels as well; from 16 levels on a code is packed, and its
/// level looked up in `table`. Those of others, such as `nf4`, have no levels, but `reals`.
struct WeightLevels {
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
  std::size_t count = 0;     ///< of code books: how many codes there are

  template <GroupedElement T>
  [[nodiscard]] static constexpr WeightLevels of() noexcept {
    if constexpr (IntegerElement<T>) {
      return of_integers(T::qmin, T::qmax);
    } else {
      constexpr std::size_t codes = [] {
        if constexpr (requires { T::format::size; }) return std::size_t{T::format::size};
        else return std::size_t{1} << T::bits;
      }();
      std::array<float, codes> values{};
      for (std::size_t i = 0; i < codes; ++i)
        values[i] = T::format::decode(static_cast<std::uint32_t>(i));
      return of_values(values);
    }
  }
  /// Levels of the codes from `lowest` to `largest`, which lie at most 255 apart.
  [[nodiscard]] static constexpr WeightLevels of_integers(std::int32_t lowest,
                                                          std::int32_t largest) noexcept;
  /// Levels of codes that stand for these values, 16 at most.
  [[nodiscard]] static constexpr WeightLevels of_values(std::span<const float> values) noexcept;

  /// The packed form of a code: its level, or the number that names its level.
  [[nodiscard]] constexpr std::uint8_t pack(std::int32_t code) const noexcept {
    return is_coded ? packed[static_cast<std::size_t>(code)]
                    : static_cast<std::uint8_t>(code - lower);
  }
  /// Whether `value` is the packed form of a code.
  [[nodiscard]] constexpr bool is_packed(std::uint8_t value) const noexcept {
    if (!is_coded) return value <= highest;
    for (std::size_t i = 0; i < count; ++i)
      if (packed[i] == value) return true;
    return false;
  }

 private:
  // Sets the levels of the values times `factor`, if they are integers that a byte has room for.
  constexpr bool take_levels(std::int32_t factor) noexcept {
    std::array<std::int32_t, 16> scaled{};
    for (std::size_t i = 0; i < count; ++i) {
      const float v = reals[i] * static_cast<float>(factor);
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

constexpr WeightLevels WeightLevels::of_integers(std::int32_t lowest,
                                                 std::int32_t largest) noexcept {
  WeightLevels map;
  map.lower = lowest;
  map.zero = -lowest;
  map.highest = largest - lowest;
  map.width = detail::level_width(map.highest);
  return map;
}

constexpr WeightLevels WeightLevels::of_values(std::span<const float> values) noexcept {
  WeightLevels map;
  map.is_coded = true;
  map.count = values.size();
  std::copy(values.begin(), values.end(), map.reals.begin());
  map.has_levels = map.take_levels(1) || map.take_levels(2);
  map.has_table = map.has_levels && map.highest > 15;
  const bool keeps_codes = map.has_table || !map.has_levels;
  map.width = detail::level_width(keeps_codes ? 15 : map.highest);
  const auto magnitude = [&](std::size_t i) {
    return map.reals[i] < 0 ? -map.reals[i] : map.reals[i];
  };
  std::size_t least = 0;
  for (std::size_t i = 0; i < map.count; ++i) {
    map.packed[i] = keeps_codes ? static_cast<std::uint8_t>(i) : map.table[i];
    if (magnitude(i) < magnitude(least)) least = i;
  }
  map.padding = map.packed[least];
  return map;
}

}  // namespace tq

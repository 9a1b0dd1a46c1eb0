// SPDX-License-Identifier: MIT
#pragma once
// Which thresholds of a large code book a float can lie between, by its upper bits.

#include <tq/config.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace tq::kernels {

/// Floats are cut into cells by sign, exponent and the upper bits of their mantissa; magnitudes
/// below the cells belong to the first, those above to the last. Where the cells are so fine that
/// none has two thresholds of the code book F (`exists`), a value is above first[cell] of them or
/// one more.
template <class F>
class CodebookCells {
  static constexpr std::uint32_t magnitude_bits(float v) noexcept {
    return std::bit_cast<std::uint32_t>(v) & 0x7fffffffu;
  }
  // The end of the cells: from the power of two below the least threshold that is not 0 to the
  // largest.
  static constexpr std::uint32_t least = [] {
    std::uint32_t m = 0x7f800000u;
    for (const float t : F::thresholds)
      if (magnitude_bits(t) != 0) m = std::min(m, magnitude_bits(t) & 0x7f800000u);
    return m;
  }();
  static constexpr std::uint32_t largest = [] {
    std::uint32_t m = least;
    for (const float t : F::thresholds)
      if (magnitude_bits(t) < 0x7f800000u) m = std::max(m, magnitude_bits(t));
    return m;
  }();
  // In ascending order of their values, when `dropped` bits of the mantissa do not count.
  static constexpr std::size_t half(int dropped) noexcept {
    return ((largest - least) >> dropped) + 1;
  }
  static constexpr std::size_t cell(float v, int dropped) noexcept {
    const std::size_t at = (std::clamp(magnitude_bits(v), least, largest) - least) >> dropped;
    return v < 0 ? half(dropped) - 1 - at : half(dropped) + at;
  }
  static constexpr bool are_apart(int dropped) noexcept {
    for (std::size_t k = 1; k < F::thresholds.size(); ++k)
      if (cell(F::thresholds[k - 1], dropped) == cell(F::thresholds[k], dropped)) return false;
    return true;
  }
  static constexpr int most_dropped = [] {
    int dropped = 20;
    while (dropped > 16 && !are_apart(dropped)) --dropped;
    return dropped;
  }();

 public:
  static constexpr bool exists = are_apart(most_dropped) && half(most_dropped) <= 2048;
  static constexpr int shift = most_dropped;
  static constexpr std::uint32_t lowest = least, highest = largest;
  static constexpr std::size_t per_sign = exists ? half(shift) : 1;

  /// By magnitude, those of negative values after the others.
  static constexpr std::array<std::uint8_t, 2 * per_sign> first = [] {
    std::array<std::uint8_t, 2 * per_sign> ascending{}, out{};
    if (!exists) return out;
    std::size_t below = 0;
    for (std::size_t c = 0; c < ascending.size(); ++c) {
      ascending[c] = static_cast<std::uint8_t>(below);
      if (below < F::thresholds.size() && cell(F::thresholds[below] + 0.0f, shift) == c) ++below;
    }
    for (std::size_t i = 0; i < per_sign; ++i) {
      out[i] = ascending[per_sign + i];
      out[per_sign + i] = ascending[per_sign - 1 - i];
    }
    return out;
  }();
};

}  // namespace tq::kernels

// SPDX-License-Identifier: MIT
#pragma once
// Little-endian loads and stores at any alignment, and the 16-bit float types containers use.

#include <tq/config.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tq::io {

static_assert(std::endian::native == std::endian::little || std::endian::native == std::endian::big,
              "tq::io needs a host that is little or big endian");

namespace detail {
// The size of the unit whose bytes are swapped: the part of a complex number, else the whole value.
template <class T>
inline constexpr std::size_t swap_unit = sizeof(T);
template <class T>
inline constexpr std::size_t swap_unit<std::complex<T>> = sizeof(T);

inline void reverse_units(std::byte* data, std::size_t size, std::size_t unit) noexcept {
  for (std::size_t i = 0; i + unit <= size; i += unit) std::reverse(data + i, data + i + unit);
}
}  // namespace detail

/// The value stored little-endian at `from`, of any alignment. A bool is true for any byte but 0.
template <class T>
  requires std::is_trivially_copyable_v<T>
[[nodiscard]] T load_le(const std::byte* from) noexcept {
  if constexpr (std::is_same_v<T, bool>) {
    return *from != std::byte{0};
  } else {
    std::array<std::byte, sizeof(T)> raw;
    std::memcpy(raw.data(), from, sizeof(T));
    if constexpr (std::endian::native == std::endian::big)
      detail::reverse_units(raw.data(), sizeof(T), detail::swap_unit<T>);
    T value;
    std::memcpy(static_cast<void*>(&value), raw.data(), sizeof(T));
    return value;
  }
}

/// Stores a value little-endian at `to`, of any alignment.
template <class T>
  requires std::is_trivially_copyable_v<T>
void store_le(std::byte* to, const T& value) noexcept {
  std::memcpy(to, static_cast<const void*>(&value), sizeof(T));
  if constexpr (std::endian::native == std::endian::big)
    detail::reverse_units(to, sizeof(T), detail::swap_unit<T>);
}

/// The float32 of an IEEE binary16 pattern, exact; a NaN keeps its payload.
[[nodiscard]] constexpr float half_to_float(std::uint16_t half) noexcept {
  const std::uint32_t sign = (half & 0x8000u) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1fu;
  const std::uint32_t mantissa = half & 0x3ffu;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  const std::uint32_t wide = exponent == 0x1fu ? 0xffu : exponent + 112u;
  return std::bit_cast<float>(sign | (wide << 23) | (mantissa << 13));
}

/// The IEEE binary16 pattern nearest to x, ties to even; overflow gives infinity, NaN a quiet NaN.
[[nodiscard]] constexpr std::uint16_t float_to_half(float x) noexcept {
  const std::uint32_t pattern = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = (pattern >> 16) & 0x8000u;
  const std::uint32_t a = pattern & 0x7fffffffu;
  std::uint32_t out = 0;
  if (a > 0x7f800000u) {
    out = 0x7e00u | ((a >> 13) & 0x3ffu);
  } else if (a >= 0x477ff000u) {  // 65520 and above
    out = 0x7c00u;
  } else if (a >= 0x38800000u) {  // 2^-14 and above: normal
    out = (a + 0xfffu + ((a >> 13) & 1u) - 0x38000000u) >> 13;
  } else if (a >= 0x33000000u) {  // 2^-25 and above: in units of 2^-24
    const std::uint32_t shift = 126u - (a >> 23);
    const std::uint32_t significand = (a & 0x7fffffu) | 0x800000u;
    const std::uint32_t rest = significand & ((1u << shift) - 1u);
    const std::uint32_t tie = 1u << (shift - 1u);
    out = significand >> shift;
    if (rest > tie || (rest == tie && (out & 1u) != 0)) ++out;
  }
  return static_cast<std::uint16_t>(sign | out);
}

/// The float32 of a bfloat16 pattern, exact.
[[nodiscard]] constexpr float bfloat16_to_float(std::uint16_t pattern) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(pattern) << 16);
}

/// The bfloat16 pattern nearest to x, ties to even; overflow gives infinity, NaN a quiet NaN.
[[nodiscard]] constexpr std::uint16_t float_to_bfloat16(float x) noexcept {
  const std::uint32_t pattern = std::bit_cast<std::uint32_t>(x);
  if ((pattern & 0x7fffffffu) > 0x7f800000u)
    return static_cast<std::uint16_t>((pattern >> 16) | 0x40u);
  return static_cast<std::uint16_t>((pattern + 0x7fffu + ((pattern >> 16) & 1u)) >> 16);
}

}  // namespace tq::io

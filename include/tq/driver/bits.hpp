// SPDX-License-Identifier: MIT
#pragma once
// Elements of any number of bits, in bytes.

#include <tq/config.hpp>

#include <cstddef>

namespace tq::driver {

/// The byte in which element `i` of those of `Bits` bits begins: without a multiplication that
/// could wrap. Precondition: of those that have no power of two of bits, i is a multiple of eight.
template <int Bits>
TQ_FORCE_INLINE constexpr std::size_t byte_at(std::size_t i) noexcept {
  if constexpr (Bits % 8 == 0) return i * (Bits / 8);
  else if constexpr (8 % Bits == 0) return i / (8 / Bits);
  else return i / 8 * Bits;
}
template <int Bits>
TQ_FORCE_INLINE constexpr std::size_t bytes_of(std::size_t n) noexcept {
  if constexpr (Bits % 8 == 0) return n * (Bits / 8);
  else return n / 8 * Bits + (n % 8 * Bits + 7) / 8;
}
/// How many elements of `Bits` bits lie side by side until one begins on a byte again.
constexpr std::size_t until_whole_bytes(int bits) noexcept {
  return bits % 8 == 0 ? 1 : bits == 4 ? 2 : bits == 2 ? 4 : 8;
}
template <int Bits>
inline constexpr std::size_t elements_of_whole_bytes = until_whole_bytes(Bits);

/// Element `n` of those of `bits` bits, in bytes. Precondition: it begins on a byte.
TQ_FORCE_INLINE std::ptrdiff_t bytes_to(std::ptrdiff_t n, int bits) noexcept {
  return bits % 8 == 0 ? n * (bits / 8) : n / 8 * bits + n % 8 * bits / 8;
}

}  // namespace tq::driver

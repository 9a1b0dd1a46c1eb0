// SPDX-License-Identifier: MIT
#pragma once
// Codes of few bits side by side in bytes, eight bytes at a time.

#include <tq/config.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tq::layouts::gguf::detail {

// Bytes side by side: what fits a byte stays in it, whatever the order of bytes.
[[nodiscard]] inline std::uint64_t eight_bytes(const std::uint8_t* from) noexcept {
  std::uint64_t v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
inline void put_eight_bytes(std::uint8_t* to, std::uint64_t v) noexcept {
  std::memcpy(to, &v, sizeof v);
}
// `bits` in each of eight bytes.
[[nodiscard]] constexpr std::uint64_t in_each_byte(std::uint8_t bits) noexcept {
  return 0x0101010101010101u * bits;
}

// A code of 2 bits of 256 in 64 bytes: a byte has elements that are 32 apart.
[[nodiscard]] inline int crumb(const std::uint8_t* from, std::size_t i) noexcept {
  return from[i / 128 * 32 + i % 32] >> 2 * (i % 128 / 32) & 3;
}
// Stores the two bits of 256 codes from bit `Shift` on.
template <int Shift>
void store_crumbs(const std::uint8_t* codes, std::uint8_t* to) noexcept {
  for (std::size_t l = 0; l < 64; l += 8) {
    const std::uint8_t* const from = codes + l / 32 * 128 + l % 32;
    std::uint64_t bytes = 0;
    for (unsigned k = 0; k < 4; ++k)
      bytes |= (eight_bytes(from + 32 * k) >> Shift & in_each_byte(3)) << 2 * k;
    put_eight_bytes(to + l, bytes);
  }
}
// Two codes of 4 bits in the halves of `n` bytes.
inline void store_nibbles(const std::uint8_t* low, const std::uint8_t* high, std::size_t n,
                          std::uint8_t* to) noexcept {
  for (std::size_t l = 0; l < n; l += 8)
    put_eight_bytes(to + l, (eight_bytes(low + l) & in_each_byte(15)) |
                                (eight_bytes(high + l) & in_each_byte(15)) << 4);
}
// Bit `Bit` of 256 codes, of those 32 apart in a byte.
template <int Bit>
void store_bits(const std::uint8_t* codes, std::uint8_t* to) noexcept {
  for (std::size_t l = 0; l < 32; l += 8) {
    std::uint64_t bytes = 0;
    for (unsigned j = 0; j < 8; ++j)
      bytes |= (eight_bytes(codes + 32 * j + l) >> Bit & in_each_byte(1)) << j;
    put_eight_bytes(to + l, bytes);
  }
}

}  // namespace tq::layouts::gguf::detail

// SPDX-License-Identifier: MIT
#pragma once
// add_embedding_row: sums of rows of codes of 8, 4 or 2 bits.

#include <tq/arch/group_dot.hpp>
#include <tq/config.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace tq::kernels {

namespace detail {

// sums[k] = fma(scale, codes[k], sums[k] + bias), of codes that are bytes.
template <class Arch>
TQ_FORCE_INLINE void add_byte_codes(const std::uint8_t* codes, std::size_t n, float scale,
                                    float bias, float* sums) noexcept {
  using dot = arch::group_dot<Arch>;
  const auto s = dot::splat(scale), b = dot::splat(bias);
  std::size_t k = 0;
  for (; k + dot::width <= n; k += dot::width)
    dot::write(sums + k,
               dot::fma(s, dot::value(dot::numbers(codes + k)), dot::plus(dot::read(sums + k), b)));
  for (; k < n; ++k) sums[k] = std::fma(scale, static_cast<float>(codes[k]), sums[k] + bias);
}

// Code k of codes of `Bits` bits, lowest bits first.
template <class Arch, int Bits>
TQ_FORCE_INLINE std::uint8_t code_at(const std::uint8_t* codes, std::size_t k) noexcept {
  constexpr std::size_t of_byte = 8 / Bits;
  return static_cast<std::uint8_t>(codes[k / of_byte] >> (k % of_byte * Bits) & ((1u << Bits) - 1));
}

// Writes 8 codes of `Bits` bits, lowest bits first, as bytes.
template <class Arch, int Bits>
TQ_FORCE_INLINE void unpack_eight(const std::uint8_t* packed, std::uint8_t* out) noexcept {
  static_assert(Bits == 4 || Bits == 2);
  std::uint64_t x = 0;
  TQ_UNROLL
  for (int i = 0; i < Bits; ++i) x |= std::uint64_t{packed[i]} << (8 * i);
  if constexpr (Bits == 4) {
    x = (x | x << 16) & 0x0000ffff0000ffff;
    x = (x | x << 8) & 0x00ff00ff00ff00ff;
    x = (x | x << 4) & 0x0f0f0f0f0f0f0f0f;
  } else {
    x = (x | x << 24) & 0x000000ff000000ff;
    x = (x | x << 12) & 0x000f000f000f000f;
    x = (x | x << 6) & 0x0303030303030303;
  }
  TQ_UNROLL
  for (int i = 0; i < 8; ++i) out[i] = static_cast<std::uint8_t>(x >> (8 * i));
}

}  // namespace detail

/// Adds a row of `width` codes of `Bits` bits, lowest bits first, to `sums`: sums[k] = fma(scale,
/// code, sums[k] + bias), rounded twice.
template <class Arch, int Bits>
void add_embedding_row(const std::uint8_t* codes, std::size_t width, float scale, float bias,
                       float* sums) noexcept {
  using dot = arch::group_dot<Arch>;
  if constexpr (dot::width == 1 || !dot::fuses) {
    for (std::size_t k = 0; k < width; ++k)
      sums[k] = std::fma(scale, static_cast<float>(detail::code_at<Arch, Bits>(codes, k)),
                         sums[k] + bias);
  } else if constexpr (Bits == 8) {
    detail::add_byte_codes<Arch>(codes, width, scale, bias, sums);
  } else {
    constexpr std::size_t some = 256;  // so that no register waits for stores of bytes
    std::uint8_t bytes[some];
    for (std::size_t first = 0; first < width; first += some) {
      const std::size_t n = std::min(some, width - first);
      const std::uint8_t* const packed = codes + first / (8 / Bits);
      std::size_t k = 0;
      for (; k + 8 <= n; k += 8)
        detail::unpack_eight<Arch, Bits>(packed + k / (8 / Bits), bytes + k);
      for (; k < n; ++k) bytes[k] = detail::code_at<Arch, Bits>(packed, k);
      detail::add_byte_codes<Arch>(bytes, n, scale, bias, sums + first);
    }
  }
}

}  // namespace tq::kernels

// SPDX-License-Identifier: MIT
#pragma once
// Blocks of one or two bits an element and one scale: TQ1_0, TQ2_0, Q1_0 and Q2_0.

#include <tq/layouts/gguf/detail/arithmetic.hpp>
#include <tq/layouts/gguf/detail/super_block.hpp>
#include <tq/layouts/gguf/type.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace tq::layouts::gguf {

namespace detail {

// Digits 0, 1, 2 of n values: their signs, or 1 below half the largest magnitude, which is
// returned.
inline float encode_trits(const float* x, std::size_t n, std::uint8_t* digits) noexcept {
  const float d = std::fabs(extreme(x, n)), id = inverse(d);
  for (std::size_t i = 0; i < n; ++i)
    digits[i] = static_cast<std::uint8_t>(half_away_in(uncontracted(x[i] * id), 1) + 1);
  return d;
}
inline void decode_trits(float d, const std::uint8_t* digits, std::size_t n, float* out) noexcept {
  for (std::size_t i = 0; i < n; ++i) out[i] = (static_cast<float>(digits[i]) - 1.0f) * d;
}

// Blocks of N digits and one scale. `Block` has load and store.
template <class Block, std::size_t N>
struct TritBlock {
  static constexpr std::size_t elements = N;
  static constexpr bool uses_importance = false;

  static void decode(const std::uint8_t* block, float* out) noexcept {
    std::uint8_t digits[N];
    decode_trits(Block::load(block, digits), digits, N, out);
  }
  static void encode(const float* x, const Importance&, std::uint8_t* block) noexcept {
    std::uint8_t digits[N];
    const float d = encode_trits(x, N, digits);
    Block::store(d, digits, block);
  }
};

}  // namespace detail

/// (digit - 1) * d: 256 digits of base 3, five in a byte, and d as float16.
struct TQ1_0 : detail::TritBlock<TQ1_0, 256> {
  static constexpr Type type = Type::tq1_0;
  static constexpr std::size_t bytes = 54;

  // Reads the digits, and returns d.
  static float load(const std::uint8_t* block, std::uint8_t* digits) noexcept {
    for_each_byte([&](std::size_t byte, std::size_t first, std::size_t stride, std::size_t n) {
      unsigned power = 1;
      for (std::size_t k = 0; k < n; ++k, power *= 3)
        digits[first + k * stride] =
            static_cast<std::uint8_t>((block[byte] * power & 0xffu) * 3 >> 8);
    });
    return detail::load_half(block + 52);
  }
  static void store(float d, const std::uint8_t* digits, std::uint8_t* block) noexcept {
    detail::store_half(block + 52, d);
    for_each_byte([&](std::size_t byte, std::size_t first, std::size_t stride, std::size_t n) {
      unsigned value = 0;
      for (std::size_t k = 0; k < 5; ++k)
        value = value * 3 + (k < n ? digits[first + k * stride] : 0u);
      block[byte] = static_cast<std::uint8_t>((value * 256 + 242) / 243);
    });
  }

 private:
  // Calls f(byte, its first element, the stride to the next, how many) for all 52 bytes.
  template <class F>
  static void for_each_byte(F&& f) {
    for (std::size_t m = 0; m < 32; ++m) f(m, m, std::size_t{32}, std::size_t{5});
    for (std::size_t m = 0; m < 16; ++m) f(32 + m, 160 + m, std::size_t{16}, std::size_t{5});
    for (std::size_t m = 0; m < 4; ++m) f(48 + m, 240 + m, std::size_t{4}, std::size_t{4});
  }
};

/// (code - 1) * d: 256 codes of 2 bits, each byte with elements 32 apart, and d as float16.
struct TQ2_0 : detail::TritBlock<TQ2_0, 256> {
  static constexpr Type type = Type::tq2_0;
  static constexpr std::size_t bytes = 66;

  // Reads the codes, and returns d.
  static float load(const std::uint8_t* block, std::uint8_t* codes) noexcept {
    for (std::size_t i = 0; i < elements; ++i)
      codes[i] = static_cast<std::uint8_t>(detail::crumb(block, i));
    return detail::load_half(block + 64);
  }
  static void store(float d, const std::uint8_t* codes, std::uint8_t* block) noexcept {
    detail::store_half(block + 64, d);
    detail::store_crumbs<0>(codes, block);
  }
};

/// d or -d: d as float16, the mean magnitude of 128 elements, and their signs in a bit each.
struct Q1_0 {
  static constexpr Type type = Type::q1_0;
  static constexpr std::size_t elements = 128, bytes = 18;
  static constexpr bool uses_importance = false;

  static void decode(const std::uint8_t* block, float* out) noexcept {
    std::uint8_t codes[elements];
    const float d = load(block, codes);
    for (std::size_t j = 0; j < elements; ++j) out[j] = codes[j] != 0 ? d : -d;
  }
  static void encode(const float* x, const detail::Importance&, std::uint8_t* block) noexcept {
    float sum = 0.0f;
    for (std::size_t j = 0; j < elements; ++j) sum += std::fabs(x[j]);
    std::uint8_t codes[elements];
    for (std::size_t j = 0; j < elements; ++j) codes[j] = x[j] >= 0.0f ? 1 : 0;
    store(sum / 128.0f, codes, block);
  }
  // Reads the codes, 1 for d and 0 for -d, and returns d.
  static float load(const std::uint8_t* block, std::uint8_t* codes) noexcept {
    for (std::size_t j = 0; j < elements; ++j)
      codes[j] = static_cast<std::uint8_t>(block[2 + j / 8] >> j % 8 & 1);
    return detail::load_half(block);
  }
  static void store(float d, const std::uint8_t* codes, std::uint8_t* block) noexcept {
    detail::store_half(block, d);
    for (std::size_t b = 0; b < 16; ++b) {
      unsigned byte = 0;
      for (std::size_t k = 0; k < 8; ++k) byte |= unsigned{codes[8 * b + k]} << k;
      block[2 + b] = static_cast<std::uint8_t>(byte);
    }
  }
};

/// (code - 1) * d: d as float16, 64 codes of 2 bits in order.
struct Q2_0 : detail::TritBlock<Q2_0, 64> {
  static constexpr Type type = Type::q2_0;
  static constexpr std::size_t bytes = 18;

  // Reads the codes, and returns d.
  static float load(const std::uint8_t* block, std::uint8_t* codes) noexcept {
    for (std::size_t j = 0; j < elements; ++j)
      codes[j] = static_cast<std::uint8_t>(block[2 + j / 4] >> 2 * (j % 4) & 3);
    return detail::load_half(block);
  }
  static void store(float d, const std::uint8_t* codes, std::uint8_t* block) noexcept {
    detail::store_half(block, d);
    for (std::size_t b = 0; b < 16; ++b) {
      const std::uint8_t* const first = codes + 4 * b;
      block[2 + b] =
          static_cast<std::uint8_t>(first[0] | first[1] << 2 | first[2] << 4 | first[3] << 6);
    }
  }
};

}  // namespace tq::layouts::gguf

// SPDX-License-Identifier: MIT
#pragma once
// Blocks of 32 with a scale of their own: Q4_0, Q4_1, Q5_0, Q5_1, Q8_0 and Q8_1.

#include <tq/layouts/gguf/detail/arithmetic.hpp>
#include <tq/layouts/gguf/detail/packed_codes.hpp>
#include <tq/layouts/gguf/detail/searches.hpp>
#include <tq/layouts/gguf/type.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tq::layouts::gguf {

namespace detail {

// 32 codes: their low 4 bits in the nibbles of 16 bytes, code j low and code j + 16 high; the fifth
// bit of code j is bit j of the 4 bytes before.
template <int Bits>
struct HalvesOf32 {
  static constexpr std::size_t high_bytes = Bits == 5 ? 4 : 0, bytes = high_bytes + 16;

  static void load(const std::uint8_t* from, int* codes) noexcept {
    for (std::size_t j = 0; j < 16; ++j) {
      codes[j] = from[high_bytes + j] & 15;
      codes[j + 16] = from[high_bytes + j] >> 4;
    }
    if constexpr (Bits == 5)
      for (std::size_t j = 0; j < 32; ++j) codes[j] |= (from[j / 8] >> j % 8 & 1) << 4;
  }
  static void store(const std::uint8_t* codes, std::uint8_t* to) noexcept {
    store_nibbles(codes, codes + 16, 16, to + high_bytes);
    if constexpr (Bits == 5) {
      std::uint32_t fifth = 0;
      for (std::size_t j = 0; j < 32; ++j) fifth |= std::uint32_t{codes[j]} >> 4 << j;
      for (std::size_t k = 0; k < 4; ++k) to[k] = static_cast<std::uint8_t>(fifth >> 8 * k & 0xffu);
    }
  }
  static void store(const int* codes, std::uint8_t* to) noexcept {
    std::uint8_t narrow[32];
    for (std::size_t j = 0; j < 32; ++j) narrow[j] = static_cast<std::uint8_t>(codes[j]);
    store(narrow, to);
  }
};

// d as float16, then codes of `Bits` bits; value = d * (code - 2^(Bits - 1)).
template <Type Number, int Bits>
struct ScaledHalves {
  static constexpr Type type = Number;
  static constexpr std::size_t elements = 32, bytes = 2 + HalvesOf32<Bits>::bytes;
  static constexpr bool uses_importance = true;

  static void decode(const std::uint8_t* block, float* out) noexcept {
    const float d = load_half(block);
    int codes[elements];
    HalvesOf32<Bits>::load(block + 2, codes);
    for (std::size_t j = 0; j < elements; ++j) out[j] = static_cast<float>(codes[j] - zero) * d;
  }
  static void encode(const float* x, const Importance& importance, std::uint8_t* block) noexcept {
    int codes[elements];
    float d = extreme(x, elements) / static_cast<float>(-zero);
    if (importance.columns != nullptr) {
      float weights[elements];
      error_weights(x, importance.columns, importance.row_mean_square, elements, weights);
      d = search_symmetric(elements, zero, x, weights, codes);
    } else {
      const float id = inverse(d);
      for (std::size_t j = 0; j < elements; ++j)
        codes[j] =
            truncated_in(product_plus(x[j], id, static_cast<float>(zero) + 0.5f), 2 * zero - 1);
    }
    store(d, codes, block);
  }
  template <class Code>
  static void store(float d, const Code* codes, std::uint8_t* block) noexcept {
    store_half(block, d);
    HalvesOf32<Bits>::store(codes, block + 2);
  }

  static constexpr int zero = 1 << (Bits - 1);
};

// d and m as float16, then codes of `Bits` bits; value = d * code + m.
template <Type Number, int Bits>
struct OffsetHalves {
  static constexpr Type type = Number;
  static constexpr std::size_t elements = 32, bytes = 4 + HalvesOf32<Bits>::bytes;
  static constexpr bool uses_importance = true;

  static void decode(const std::uint8_t* block, float* out) noexcept {
    const float d = load_half(block), m = load_half(block + 2);
    int codes[elements];
    HalvesOf32<Bits>::load(block + 4, codes);
    for (std::size_t j = 0; j < elements; ++j)
      out[j] = product_plus(static_cast<float>(codes[j]), d, m);
  }
  static void encode(const float* x, const Importance& importance, std::uint8_t* block) noexcept {
    int codes[elements];
    const auto [low, high] = bounds(x, elements);
    float d = (high - low) / static_cast<float>(top), m = low;
    if (importance.columns != nullptr) {
      float weights[elements];
      error_weights(x, importance.columns, importance.row_mean_square, elements, weights);
      const OffsetScale fit = search_offset(elements, top, x, weights, offset_steps, codes);
      d = fit.scale, m = -fit.minimum;
    } else {
      const float id = inverse(d);
      for (std::size_t j = 0; j < elements; ++j)
        codes[j] = truncated_in(product_plus(x[j] - low, id, 0.5f), top);
    }
    store(d, m, codes, block);
  }
  template <class Code>
  static void store(float d, float m, const Code* codes, std::uint8_t* block) noexcept {
    store_half(block, d);
    store_half(block + 2, m);
    HalvesOf32<Bits>::store(codes, block + 4);
  }

  static constexpr int top = (1 << Bits) - 1;
};

// Bytes for 32 values with the scale that takes the largest magnitude to 127; returns it.
inline float encode_bytes(const float* x, std::uint8_t* to, int& sum) noexcept {
  const float d = std::fabs(extreme(x, 32)) / 127.0f, id = inverse(d);
  sum = 0;
  for (std::size_t j = 0; j < 32; ++j) {
    const int code = half_away_in(uncontracted(x[j] * id), 127);
    to[j] = static_cast<std::uint8_t>(code & 0xff);
    sum += code;
  }
  return d;
}
inline void decode_bytes(const std::uint8_t* from, std::size_t n, float d, float* out) noexcept {
  for (std::size_t j = 0; j < n; ++j)
    out[j] = static_cast<float>(static_cast<std::int8_t>(from[j])) * d;
}

}  // namespace detail

/// (code - 8) * d: d as float16, 32 codes of 4 bits.
struct Q4_0 : detail::ScaledHalves<Type::q4_0, 4> {};
/// (code - 16) * d: d as float16, 32 codes of 5 bits.
struct Q5_0 : detail::ScaledHalves<Type::q5_0, 5> {};
/// code * d + m: d and m as float16, 32 codes of 4 bits.
struct Q4_1 : detail::OffsetHalves<Type::q4_1, 4> {};
/// code * d + m: d and m as float16, 32 codes of 5 bits.
struct Q5_1 : detail::OffsetHalves<Type::q5_1, 5> {};

/// code * d: d as float16, 32 codes of int8.
struct Q8_0 {
  static constexpr Type type = Type::q8_0;
  static constexpr std::size_t elements = 32, bytes = 34;
  static constexpr bool uses_importance = false;

  static void decode(const std::uint8_t* block, float* out) noexcept {
    detail::decode_bytes(block + 2, elements, detail::load_half(block), out);
  }
  static void encode(const float* x, const detail::Importance&, std::uint8_t* block) noexcept {
    int sum = 0;
    detail::store_half(block, detail::encode_bytes(x, block + 2, sum));
  }
  // Codes that are 128 more.
  static void store(float d, const std::uint8_t* codes, std::uint8_t* block) noexcept {
    detail::store_half(block, d);
    for (std::size_t l = 0; l < elements; l += 8)
      detail::put_eight_bytes(block + 2 + l,
                              detail::eight_bytes(codes + l) ^ detail::in_each_byte(0x80));
  }
};

/// code * d: d as float16, d times the sum of all codes as float16, 32 codes of int8. For
/// activations in products with blocks that have a minimum.
struct Q8_1 {
  static constexpr Type type = Type::q8_1;
  static constexpr std::size_t elements = 32, bytes = 36;
  static constexpr bool uses_importance = false;

  static void decode(const std::uint8_t* block, float* out) noexcept {
    detail::decode_bytes(block + 4, elements, detail::load_half(block), out);
  }
  static void encode(const float* x, const detail::Importance&, std::uint8_t* block) noexcept {
    int sum = 0;
    const float d = detail::encode_bytes(x, block + 4, sum);
    detail::store_half(block, d);
    detail::store_half(block + 2, static_cast<float>(sum) * d);
  }
};

}  // namespace tq::layouts::gguf

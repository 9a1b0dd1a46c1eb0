// SPDX-License-Identifier: MIT
#pragma once
// Blocks of 4-bit floats under scales of 8 bits: MXFP4 and NVFP4.

#include <tq/layouts/gguf/detail/arithmetic.hpp>
#include <tq/layouts/gguf/type.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace tq::layouts::gguf {

namespace detail {

// Twice the values of E2M1, by code; code 8 is a second 0.
inline constexpr std::array<float, 16> doubled_e2m1{0, 1,  2,  3,  4,  6,  8,  12,
                                                    0, -1, -2, -3, -4, -6, -8, -12};

// The first code whose doubled value times `scale` is nearest to x.
[[nodiscard]] inline int nearest_e2m1(float x, float scale) noexcept {
  int best = 0;
  float least = std::fabs(doubled_e2m1[0] * scale - x);
  for (int code = 1; code < 16; ++code) {
    const float error =
        std::fabs(uncontracted(doubled_e2m1[static_cast<std::size_t>(code)] * scale) - x);
    if (error < least) least = error, best = code;
  }
  return best;
}

// 2 N codes in N bytes: code j in the low nibble, code j + N in the high one.
template <std::size_t N>
void encode_e2m1(const float* x, float scale, std::uint8_t* to) noexcept {
  for (std::size_t j = 0; j < N; ++j)
    to[j] =
        static_cast<std::uint8_t>(nearest_e2m1(x[j], scale) | nearest_e2m1(x[j + N], scale) << 4);
}
template <std::size_t N>
void decode_e2m1(const std::uint8_t* from, float scale, float* out) noexcept {
  for (std::size_t j = 0; j < N; ++j) {
    out[j] = doubled_e2m1[from[j] & 15] * scale;
    out[j + N] = doubled_e2m1[from[j] >> 4] * scale;
  }
}

// 2^(code - 128), for every code.
[[nodiscard]] inline float half_of_e8m0(std::uint8_t code) noexcept {
  return std::bit_cast<float>(code < 2 ? 0x00200000u << code
                                       : static_cast<std::uint32_t>(code - 1) << 23);
}

// Half the value of an E4M3 whose sign is not looked at. 0x7f is 0; 0xff, which no quantizer makes,
// is read as a number, 480.
[[nodiscard]] inline float half_of_ue4m3(std::uint8_t code) noexcept {
  if (code == 0x7f) return 0.0f;
  if (code == 0xff) return 240.0f;
  return 0.5f * float8_e4m3fn::format::decode(code & 0x7fu);
}
// The code of z: half of a unit rounds up, and everything from 256 on is 448, as ggml has it.
[[nodiscard]] inline std::uint8_t encode_ue4m3(float z) noexcept {
  if (!(z > 0.0f)) return 0;
  const std::uint32_t pattern = std::bit_cast<std::uint32_t>(std::min(z, 448.0f));
  int exponent = static_cast<int>(pattern >> 23) - 127 + 7;
  if (exponent <= 0)
    return static_cast<std::uint8_t>(
        truncated_in(product_plus(std::bit_cast<float>(pattern), 512.0f, 0.5f), 7));
  if (exponent >= 15) return 0x7e;
  int mantissa = static_cast<int>(((pattern >> 20 & 7u) + (pattern >> 19 & 1u)));
  if (mantissa > 7) mantissa = 0, ++exponent;
  return exponent >= 15 ? std::uint8_t{0x7e} : static_cast<std::uint8_t>(exponent << 3 | mantissa);
}

}  // namespace detail

/// value(code) * 2^(e - 127): e in a byte, 32 codes of E2M1. The scale 255, which is no number in
/// OCP Microscaling, is 2^128 here.
struct MXFP4 {
  static constexpr Type type = Type::mxfp4;
  static constexpr std::size_t elements = 32, bytes = 17;
  static constexpr bool uses_importance = false;

  static void decode(const std::uint8_t* block, float* out) noexcept {
    detail::decode_e2m1<16>(block + 1, detail::half_of_e8m0(block[0]), out);
  }
  static void encode(const float* x, const detail::Importance&, std::uint8_t* block) noexcept {
    const float most = std::fabs(detail::extreme(x, elements));
    const float exponent = most > 0.0f ? std::floor(std::log2(most)) + 125.0f : 0.0f;
    block[0] = static_cast<std::uint8_t>(std::max(exponent, 0.0f));
    detail::encode_e2m1<16>(x, detail::half_of_e8m0(block[0]), block + 1);
  }
};

/// value(code) * scale: four scales of unsigned E4M3, each for 16 of 64 codes of E2M1.
struct NVFP4 {
  static constexpr Type type = Type::nvfp4;
  static constexpr std::size_t elements = 64, bytes = 36;
  static constexpr bool uses_importance = false;

  static void decode(const std::uint8_t* block, float* out) noexcept {
    for (std::size_t s = 0; s < 4; ++s)
      detail::decode_e2m1<8>(block + 4 + 8 * s, detail::half_of_ue4m3(block[s]), out + 16 * s);
  }
  static void encode(const float* x, const detail::Importance&, std::uint8_t* block) noexcept {
    for (std::size_t s = 0; s < 4; ++s) {
      block[s] = detail::encode_ue4m3(std::fabs(detail::extreme(x + 16 * s, 16)) / 6.0f);
      detail::encode_e2m1<8>(x + 16 * s, detail::half_of_ue4m3(block[s]), block + 4 + 8 * s);
    }
  }
};

}  // namespace tq::layouts::gguf

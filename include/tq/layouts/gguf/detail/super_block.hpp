// SPDX-License-Identifier: MIT
#pragma once
// The fields of K-quant super-blocks, apart from how they are packed.

#include <tq/layouts/gguf/detail/arithmetic.hpp>

#include <cstddef>
#include <cstdint>

namespace tq::layouts::gguf::detail {

// d * scale * code - dmin * minimum, with a scale and a minimum for `Sub` of 256 elements each.
template <std::size_t Sub>
struct OffsetSuperBlock {
  static constexpr std::size_t parts = 256 / Sub;
  float d = 0.0f, dmin = 0.0f;  // values of float16, or rounded to it when packed
  int scales[parts] = {}, minimums[parts] = {};
  int codes[256] = {};

  void decode(float* out) const noexcept {
    for (std::size_t j = 0; j < parts; ++j) {
      const float scale = uncontracted(d * static_cast<float>(scales[j]));
      const float minimum = uncontracted(dmin * static_cast<float>(minimums[j]));
      for (std::size_t i = Sub * j; i < Sub * (j + 1); ++i)
        out[i] = uncontracted(scale * static_cast<float>(codes[i])) - minimum;
    }
  }
  // The codes 0 to `top` that are nearest under the scales; a sub-block of scale 0 keeps its codes.
  void take_codes(const float* x, int top) noexcept {
    for (std::size_t j = 0; j < parts; ++j) {
      const float scale = uncontracted(d * static_cast<float>(scales[j]));
      if (scale == 0.0f) continue;
      const float minimum = uncontracted(dmin * static_cast<float>(minimums[j]));
      for (std::size_t i = Sub * j; i < Sub * (j + 1); ++i)
        codes[i] = nearest_in((x[i] + minimum) / scale, 0, top);
    }
  }
};

// d * scale * code, with a signed scale for 16 of 256 elements each.
struct SymmetricSuperBlock {
  static constexpr std::size_t parts = 16;
  float d = 0.0f;
  int scales[parts] = {};
  int codes[256] = {};  // signed

  void decode(float* out) const noexcept {
    for (std::size_t j = 0; j < parts; ++j) {
      const float scale = uncontracted(d * static_cast<float>(scales[j]));
      for (std::size_t i = 16 * j; i < 16 * (j + 1); ++i)
        out[i] = scale * static_cast<float>(codes[i]);
    }
  }
  // The codes -zero to zero - 1 that are nearest under the scales.
  void take_codes(const float* x, int zero) noexcept {
    for (std::size_t j = 0; j < parts; ++j) {
      const float scale = uncontracted(d * static_cast<float>(scales[j]));
      if (scale == 0.0f) continue;
      for (std::size_t i = 16 * j; i < 16 * (j + 1); ++i)
        codes[i] = nearest_in(x[i] / scale, -zero, zero - 1);
    }
  }
};

// 256 elements whose format says how their fields are packed.
template <class Format>
struct SuperBlockFormat {
  static constexpr std::size_t elements = 256;
  static constexpr bool uses_importance = true;

  static void decode(const std::uint8_t* block, float* out) noexcept {
    typename Format::Fields fields;
    Format::load(block, fields);
    fields.decode(out);
  }
};

// The value that a float16 gives back.
[[nodiscard]] inline float rounded_to_half(float value) noexcept {
  std::uint8_t stored[2];
  store_half(stored, value);
  return load_half(stored);
}

// 256 codes of 2 bits in 64 bytes: a byte has elements that are 32 apart.
[[nodiscard]] inline int crumb(const std::uint8_t* from, std::size_t i) noexcept {
  return from[i / 128 * 32 + i % 32] >> 2 * (i % 128 / 32) & 3;
}
inline void add_crumb(std::uint8_t* to, std::size_t i, int code) noexcept {
  std::uint8_t& byte = to[i / 128 * 32 + i % 32];
  byte = static_cast<std::uint8_t>(byte | (code & 3) << 2 * (i % 128 / 32));
}

}  // namespace tq::layouts::gguf::detail

// SPDX-License-Identifier: MIT
#pragma once
// The fields of K-quant super-blocks, apart from how they are packed.

#include <tq/layouts/gguf/detail/arithmetic.hpp>
#include <tq/layouts/gguf/detail/packed_codes.hpp>

#include <cstddef>
#include <cstdint>

namespace tq::layouts::gguf::detail {

inline constexpr std::size_t super_blocks = 2;  // that a search takes together

// The scales and minimums of sub-blocks of `Sub` elements.
template <std::size_t Sub>
struct OffsetScales {
  static constexpr std::size_t parts = 256 / Sub;
  float d = 0.0f, dmin = 0.0f;  // values of float16, or rounded to it when packed
  int scales[parts] = {}, minimums[parts] = {};
};

// d * scale * code - dmin * minimum, with a scale and a minimum for `Sub` of 256 elements each.
template <std::size_t Sub>
struct OffsetSuperBlock : OffsetScales<Sub> {
  using OffsetScales<Sub>::parts, OffsetScales<Sub>::d, OffsetScales<Sub>::dmin;
  using OffsetScales<Sub>::scales, OffsetScales<Sub>::minimums;
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

// The signed scales of sub-blocks.
template <std::size_t Parts>
struct SymmetricScales {
  static constexpr std::size_t parts = Parts;
  float d = 0.0f;
  int scales[parts] = {};
};

// d * scale * code, with a signed scale for 16 of 256 elements each.
struct SymmetricSuperBlock : SymmetricScales<16> {
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
  // Stores codes that are `zero` less than those in the block.
  template <class Fields>
  static void store(const Fields& fields, std::uint8_t* block, int zero = 0) noexcept {
    std::uint8_t codes[256];
    for (std::size_t i = 0; i < 256; ++i)
      codes[i] = static_cast<std::uint8_t>(fields.codes[i] + zero);
    Format::store_scales(fields, block);
    Format::store_codes(codes, block);
  }
};

// The value that a float16 gives back.
[[nodiscard]] inline float rounded_to_half(float value) noexcept {
  std::uint8_t stored[2];
  store_half(stored, value);
  return load_half(stored);
}

}  // namespace tq::layouts::gguf::detail

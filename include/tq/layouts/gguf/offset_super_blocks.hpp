// SPDX-License-Identifier: MIT
#pragma once
// K-quants with a scale and a minimum for every sub-block: Q2_K, Q4_K and Q5_K.

#include <tq/layouts/gguf/detail/arithmetic.hpp>
#include <tq/layouts/gguf/detail/searches.hpp>
#include <tq/layouts/gguf/detail/super_block.hpp>
#include <tq/layouts/gguf/type.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace tq::layouts::gguf {

namespace detail {

// ggml's quantizer of a format whose struct says how it packs, and the search without importance.
template <class Format>
struct OffsetQuantizer : SuperBlockFormat<Format> {
  using SuperBlockFormat<Format>::elements;

  static void encode(const float* x, const Importance& importance, std::uint8_t* block) noexcept {
    constexpr std::size_t sub = Format::sub_block, parts = 256 / sub;
    typename Format::Fields fields;
    float scales[parts], minimums[parts], weights[sub], sums[parts];
    const bool weighted = importance.columns != nullptr;
    const float mean_square =
        Format::importance_factor * sum_of_squares(x, elements) / static_cast<float>(elements);
    for (std::size_t j = 0; j < parts; ++j) {
      const float* const part = x + sub * j;
      if (weighted) error_weights(part, importance.columns + sub * j, mean_square, sub, weights);
      else Format::plain_weights(part, weights);
      sums[j] = sum_of(weights, sub);
      const OffsetScale fit =
          search_offset(sub, Format::top, part, weights,
                        weighted ? offset_steps : Format::plain_steps, fields.codes + sub * j);
      scales[j] = fit.scale, minimums[j] = fit.minimum;
    }
    const auto store = [&](const float* from, int* codes) {
      if (weighted) return search_positive(parts, Format::top_scale, from, sums, codes);
      return scale_by_most(from, codes);
    };
    fields.d = rounded_to_half(store(scales, fields.scales));
    fields.dmin = rounded_to_half(store(minimums, fields.minimums));
    fields.take_codes(x, Format::top);
    OffsetQuantizer::store(fields, block);
  }

 private:
  // The scale that takes the largest value to the largest code.
  static float scale_by_most(const float* from, int* codes) noexcept {
    constexpr std::size_t parts = 256 / Format::sub_block;
    float most = 0.0f;
    for (std::size_t j = 0; j < parts; ++j) most = std::max(most, from[j]);
    const float step = most > 0.0f ? static_cast<float>(Format::top_scale) / most : 0.0f;
    for (std::size_t j = 0; j < parts; ++j)
      codes[j] = nearest_in(uncontracted(step * from[j]), 0, Format::top_scale);
    return most / static_cast<float>(Format::top_scale);
  }
};

// The eight scales and minimums of 6 bits in 12 bytes, of Q4_K and Q5_K.
inline void load_six_bits(const std::uint8_t* s, int* scales, int* minimums) noexcept {
  for (std::size_t j = 0; j < 4; ++j) {
    scales[j] = s[j] & 63, minimums[j] = s[j + 4] & 63;
    scales[j + 4] = (s[j + 8] & 15) | s[j] >> 6 << 4;
    minimums[j + 4] = s[j + 8] >> 4 | s[j + 4] >> 6 << 4;
  }
}
inline void store_six_bits(const int* scales, const int* minimums, std::uint8_t* s) noexcept {
  for (std::size_t j = 0; j < 4; ++j) {
    s[j] = static_cast<std::uint8_t>(scales[j] | scales[j + 4] >> 4 << 6);
    s[j + 4] = static_cast<std::uint8_t>(minimums[j] | minimums[j + 4] >> 4 << 6);
    s[j + 8] = static_cast<std::uint8_t>((scales[j + 4] & 15) | (minimums[j + 4] & 15) << 4);
  }
}

// Q4_K and Q5_K: d and dmin as float16, 12 bytes of scales, `Bits` - 4 times 32 bytes of fifth
// bits, and the low 4 bits of two sub-blocks in the halves of 32 bytes each.
template <Type Number, int Bits>
struct WithSixBitScales : OffsetQuantizer<WithSixBitScales<Number, Bits>> {
  static constexpr Type type = Number;
  static constexpr std::size_t sub_block = 32, low_bits = 16 + (Bits == 5 ? 32 : 0),
                               bytes = low_bits + 128;
  static constexpr int top = (1 << Bits) - 1, top_scale = 63;
  static constexpr float importance_factor = 2.0f;
  static constexpr OffsetSteps plain_steps =
      Bits == 4 ? OffsetSteps{-1.0f, 0.1f, 20} : OffsetSteps{-0.5f, 0.1f, 15};
  using Fields = OffsetSuperBlock<sub_block>;
  using Scales = OffsetScales<sub_block>;

  static void plain_weights(const float* x, float* weights) noexcept {
    const float root = std::sqrt(sum_of_squares(x, sub_block) / 32.0f);
    for (std::size_t i = 0; i < sub_block; ++i) weights[i] = root + std::fabs(x[i]);
  }
  static void load(const std::uint8_t* block, Fields& fields) noexcept {
    fields.d = load_half(block), fields.dmin = load_half(block + 2);
    load_six_bits(block + 4, fields.scales, fields.minimums);
    for (std::size_t i = 0; i < 256; ++i) {
      const std::size_t j = i / 32, l = i % 32;
      fields.codes[i] = block[low_bits + 32 * (j / 2) + l] >> 4 * (j % 2) & 15;
      if constexpr (Bits == 5) fields.codes[i] |= (block[16 + l] >> j & 1) << 4;
    }
  }
  static void store_scales(const Scales& fields, std::uint8_t* block) noexcept {
    store_half(block, fields.d), store_half(block + 2, fields.dmin);
    store_six_bits(fields.scales, fields.minimums, block + 4);
  }
  static void store_codes(const std::uint8_t* codes, std::uint8_t* block) noexcept {
    for (std::size_t j = 0; j < 8; j += 2)
      store_nibbles(codes + 32 * j, codes + 32 * (j + 1), 32, block + low_bits + 16 * j);
    if constexpr (Bits == 5) store_bits<4>(codes, block + 16);
  }
};

}  // namespace detail

/// (d * scale) * code - dmin * minimum: 256 codes of 4 bits, scales and minimums of 6 bits for 32
/// codes each, d and dmin as float16.
struct Q4_K : detail::WithSixBitScales<Type::q4_K, 4> {};
/// As `Q4_K`, with codes of 5 bits.
struct Q5_K : detail::WithSixBitScales<Type::q5_K, 5> {};

/// (d * scale) * code - dmin * minimum: 256 codes of 2 bits, scales and minimums of 4 bits for 16
/// codes each, d and dmin as float16.
struct Q2_K : detail::OffsetQuantizer<Q2_K> {
  static constexpr Type type = Type::q2_K;
  static constexpr std::size_t sub_block = 16, bytes = 84;
  static constexpr int top = 3, top_scale = 15;
  static constexpr float importance_factor = 1.0f;
  static constexpr detail::OffsetSteps plain_steps{-0.5f, 0.1f, 15, true};
  using Fields = detail::OffsetSuperBlock<sub_block>;
  using Scales = detail::OffsetScales<sub_block>;

  static void plain_weights(const float* x, float* weights) noexcept {
    for (std::size_t i = 0; i < sub_block; ++i) weights[i] = std::fabs(x[i]);
  }
  static void load(const std::uint8_t* block, Fields& fields) noexcept {
    fields.d = detail::load_half(block + 80), fields.dmin = detail::load_half(block + 82);
    for (std::size_t j = 0; j < 16; ++j) {
      fields.scales[j] = block[j] & 15, fields.minimums[j] = block[j] >> 4;
    }
    for (std::size_t i = 0; i < 256; ++i) fields.codes[i] = detail::crumb(block + 16, i);
  }
  static void store_scales(const Scales& fields, std::uint8_t* block) noexcept {
    detail::store_half(block + 80, fields.d), detail::store_half(block + 82, fields.dmin);
    for (std::size_t j = 0; j < 16; ++j)
      block[j] = static_cast<std::uint8_t>(fields.scales[j] | fields.minimums[j] << 4);
  }
  static void store_codes(const std::uint8_t* codes, std::uint8_t* block) noexcept {
    detail::store_crumbs<0>(codes, block + 16);
  }
};

}  // namespace tq::layouts::gguf

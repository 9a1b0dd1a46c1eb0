// SPDX-License-Identifier: MIT
#pragma once
// K-quants with a signed scale for every sub-block, and Q8_K, their partner in products: Q3_K, Q6_K
// and Q8_K.

#include <tq/layouts/gguf/detail/arithmetic.hpp>
#include <tq/layouts/gguf/detail/searches.hpp>
#include <tq/layouts/gguf/detail/super_block.hpp>
#include <tq/layouts/gguf/type.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace tq::layouts::gguf {

/// (d * scale) * code: 256 codes of 3 bits, their high bits apart, scales of 6 bits for 16 codes
/// each, d as float16.
struct Q3_K : detail::SuperBlockFormat<Q3_K> {
  static constexpr Type type = Type::q3_K;
  static constexpr std::size_t bytes = 110;
  static constexpr std::size_t sub_block = 16;
  static constexpr int zero = 4, low_scale = -32;
  using Fields = detail::SymmetricSuperBlock;
  using Scales = detail::SymmetricScales<16>;

  static void load(const std::uint8_t* block, Fields& fields) noexcept {
    const std::uint8_t* const s = block + 96;
    fields.d = detail::load_half(block + 108);
    for (std::size_t j = 0; j < 16; ++j) {
      const int low = j < 8 ? s[j] & 15 : s[j - 8] >> 4;
      fields.scales[j] = (low | (s[8 + j % 4] >> 2 * (j / 4) & 3) << 4) - 32;
    }
    for (std::size_t i = 0; i < 256; ++i) {
      const int high = block[i % 32] >> i / 32 & 1;
      fields.codes[i] = detail::crumb(block + 32, i) + 4 * high - 4;
    }
  }
  static void store_scales(const Scales& fields, std::uint8_t* block) noexcept {
    std::uint8_t* const s = block + 96;
    std::fill_n(s, 12, std::uint8_t{0});
    detail::store_half(block + 108, fields.d);
    for (std::size_t j = 0; j < 16; ++j) {
      const int stored = fields.scales[j] + 32;
      s[j % 8] = static_cast<std::uint8_t>(s[j % 8] | (stored & 15) << (j < 8 ? 0 : 4));
      s[8 + j % 4] = static_cast<std::uint8_t>(s[8 + j % 4] | stored >> 4 << 2 * (j / 4));
    }
  }
  static void store_codes(const std::uint8_t* codes, std::uint8_t* block) noexcept {
    detail::store_bits<2>(codes, block);
    detail::store_crumbs<0>(codes, block + 32);
  }
  static void encode(const float* x, const detail::Importance& importance,
                     std::uint8_t* block) noexcept {
    using namespace detail;
    Fields fields;
    float scales[16], sums[16];
    const float mean_square = 2.0f * sum_of_squares(x, elements) / 256.0f;
    for (std::size_t j = 0; j < 16; ++j) {
      const float* const part = x + 16 * j;
      int* const codes = fields.codes + 16 * j;
      if (importance.columns == nullptr) {
        scales[j] = search_single_codes(16, 4, part, codes);
      } else {
        float weights[16];
        error_weights(part, importance.columns + 16 * j, mean_square, 16, weights);
        sums[j] = sum_of(weights, 16);
        scales[j] = search_symmetric(16, 4, part, weights, codes);
      }
    }
    for (int& code : fields.codes) code -= 4;
    if (importance.columns == nullptr) {
      if (const float most = extreme(scales, 16); most != 0.0f) {
        const float step = -32.0f / most;
        for (std::size_t j = 0; j < 16; ++j)
          fields.scales[j] = nearest_in(uncontracted(step * scales[j]), -32, 31);
        fields.d = rounded_to_half(1.0f / step);
      } else {
        std::fill_n(fields.scales, 16, -32);  // stored as 0, as ggml leaves them
      }
    } else {
      fields.d = rounded_to_half(search_symmetric(16, 32, scales, sums, fields.scales));
      for (int& scale : fields.scales) scale -= 32;
    }
    fields.take_codes(x, 4);
    SuperBlockFormat::store(fields, block, 4);
  }
};

/// (d * scale) * code: 256 codes of 6 bits, scales of int8 for 16 codes each, d as float16.
struct Q6_K : detail::SuperBlockFormat<Q6_K> {
  static constexpr Type type = Type::q6_K;
  static constexpr std::size_t bytes = 210;
  static constexpr std::size_t sub_block = 16;
  static constexpr int zero = 32, low_scale = -128;
  using Fields = detail::SymmetricSuperBlock;
  using Scales = detail::SymmetricScales<16>;

  static void load(const std::uint8_t* block, Fields& fields) noexcept {
    fields.d = detail::load_half(block + 208);
    for (std::size_t j = 0; j < 16; ++j)
      fields.scales[j] = static_cast<std::int8_t>(block[192 + j]);
    for (std::size_t i = 0; i < 256; ++i) {
      const int low = block[low_byte(i)] >> i % 128 / 64 * 4 & 15;
      fields.codes[i] = (low | detail::crumb(block + 128, i) << 4) - 32;
    }
  }
  static void store_scales(const Scales& fields, std::uint8_t* block) noexcept {
    detail::store_half(block + 208, fields.d);
    for (std::size_t j = 0; j < 16; ++j)
      block[192 + j] = static_cast<std::uint8_t>(fields.scales[j] & 0xff);
  }
  static void store_codes(const std::uint8_t* codes, std::uint8_t* block) noexcept {
    for (std::size_t h = 0; h < 2; ++h)
      detail::store_nibbles(codes + 128 * h, codes + 128 * h + 64, 64, block + 64 * h);
    detail::store_crumbs<4>(codes, block + 128);
  }
  static void encode(const float* x, const detail::Importance& importance,
                     std::uint8_t* block) noexcept {
    using namespace detail;
    Fields fields;
    float scales[16];
    for (std::size_t j = 0; j < 16; ++j) {
      const float* const columns = importance.columns;
      scales[j] =
          search_symmetric(16, 32, x + 16 * j, columns != nullptr ? columns + 16 * j : nullptr,
                           fields.codes + 16 * j);
    }
    const float most = extreme(scales, 16);
    if (std::fabs(most) < negligible) {
      std::fill_n(block, bytes, std::uint8_t{0});
      return;
    }
    for (int& code : fields.codes) code -= 32;
    const float step = -128.0f / most;
    fields.d = rounded_to_half(1.0f / step);
    for (std::size_t j = 0; j < 16; ++j)
      fields.scales[j] = nearest_in(uncontracted(step * scales[j]), -128, 127);
    fields.take_codes(x, 32);
    SuperBlockFormat::store(fields, block, 32);
  }

 private:
  static constexpr std::size_t low_byte(std::size_t i) noexcept { return i / 128 * 64 + i % 64; }
};

/// d * code: d as float32, 256 codes of int8, and the sums of 16 codes each as int16. For
/// activations in products with K-quants.
struct Q8_K {
  static constexpr Type type = Type::q8_K;
  static constexpr std::size_t elements = 256, bytes = 292;
  static constexpr bool uses_importance = false;

  static void decode(const std::uint8_t* block, float* out) noexcept {
    std::uint32_t pattern = 0;
    for (std::size_t k = 0; k < 4; ++k) pattern |= std::uint32_t{block[k]} << 8 * k;
    const float d = std::bit_cast<float>(pattern);
    for (std::size_t i = 0; i < elements; ++i)
      out[i] = d * static_cast<float>(static_cast<std::int8_t>(block[4 + i]));
  }
  static void encode(const float* x, const detail::Importance&, std::uint8_t* block) noexcept {
    std::fill_n(block, bytes, std::uint8_t{0});
    const float most = detail::extreme(x, elements);
    if (most == 0.0f) return;
    const float step = -127.0f / most;
    const auto pattern = std::bit_cast<std::uint32_t>(1.0f / step);
    for (std::size_t k = 0; k < 4; ++k)
      block[k] = static_cast<std::uint8_t>(pattern >> 8 * k & 0xffu);
    for (std::size_t j = 0; j < 16; ++j) {
      int sum = 0;
      for (std::size_t i = 16 * j; i < 16 * (j + 1); ++i) {
        const int code = detail::nearest_in(detail::uncontracted(step * x[i]), -128, 127);
        block[4 + i] = static_cast<std::uint8_t>(code & 0xff);
        sum += code;
      }
      block[260 + 2 * j] = static_cast<std::uint8_t>(sum & 0xff);
      block[261 + 2 * j] = static_cast<std::uint8_t>(sum >> 8 & 0xff);
    }
  }
};

}  // namespace tq::layouts::gguf

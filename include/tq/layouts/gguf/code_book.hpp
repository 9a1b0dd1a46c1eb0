// SPDX-License-Identifier: MIT
#pragma once
// Blocks whose codes name values of a table that is dense near 0: IQ4_NL and IQ4_XS.

#include <tq/layouts/gguf/detail/arithmetic.hpp>
#include <tq/layouts/gguf/detail/searches.hpp>
#include <tq/layouts/gguf/detail/super_block.hpp>
#include <tq/layouts/gguf/type.hpp>
#include <tq/numeric/codebooks.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace tq::layouts::gguf {

namespace detail {

inline constexpr const auto& iq4_values = codebooks::iq4_nl::values;

// The code of the value nearest to z, the upper one of two that are as near.
[[nodiscard]] inline int nearest_iq4(float z) noexcept {
  if (!(z > iq4_values.front())) return 0;
  const auto upper = std::ranges::upper_bound(iq4_values, z);
  const auto code = static_cast<int>(upper - iq4_values.begin());
  if (upper == iq4_values.end()) return 15;
  return z - *(upper - 1) < *upper - z ? code - 1 : code;
}

// The scale of 32 values whose errors have these weights, of either sign, or 0.
[[nodiscard]] inline float search_iq4(const float* x, const float* weights) noexcept {
  const float most = extreme(x, 32);
  if (std::fabs(most) < negligible) return 0.0f;
  struct Sums {
    float qx = 0.0f, qq = 0.0f;
  };
  const auto sums_of = [&](float inverse_scale) {
    Sums s;
    for (std::size_t j = 0; j < 32; ++j) {
      const float q =
          iq4_values[static_cast<std::size_t>(nearest_iq4(uncontracted(inverse_scale * x[j])))];
      s.qx += triple(weights[j], q, x[j]);
      s.qq += triple(weights[j], q, q);
    }
    return s;
  };
  Sums s = sums_of(1.0f / (-most / iq4_values[0]));
  float d = s.qq > 0.0f ? s.qx / s.qq : 0.0f;
  float best = uncontracted(d * s.qx);
  for (int k = -7; k <= 7; ++k) {
    s = sums_of((static_cast<float>(k) + iq4_values[0]) / most);
    if (!(s.qq > 0.0f) || !(uncontracted(s.qx * s.qx) > uncontracted(best * s.qq))) continue;
    d = s.qx / s.qq;
    best = uncontracted(d * s.qx);
  }
  return d;
}

// The weights of 32 errors: by importance, or x^2 without it.
inline void iq4_weights(const float* x, const float* importance, float mean_square,
                        float* weights) noexcept {
  if (importance != nullptr) return error_weights(x, importance, mean_square, 32, weights);
  for (std::size_t j = 0; j < 32; ++j) weights[j] = x[j] * x[j];
}

// 32 codes in 16 bytes: code j in the low nibble, code j + 16 in the high one.
inline void encode_iq4(const float* x, float inverse_scale, std::uint8_t* to) noexcept {
  const auto code = [&](std::size_t j) { return nearest_iq4(uncontracted(inverse_scale * x[j])); };
  for (std::size_t j = 0; j < 16; ++j)
    to[j] = static_cast<std::uint8_t>(code(j) | code(j + 16) << 4);
}
inline void decode_iq4(const std::uint8_t* from, float scale, float* out) noexcept {
  for (std::size_t j = 0; j < 16; ++j) {
    out[j] = scale * iq4_values[from[j] & 15];
    out[j + 16] = scale * iq4_values[from[j] >> 4];
  }
}

}  // namespace detail

/// d * value(code): d as float16, 32 codes of 4 bits.
struct IQ4_NL {
  static constexpr Type type = Type::iq4_nl;
  static constexpr std::size_t elements = 32, bytes = 18;
  static constexpr bool uses_importance = true;

  static void decode(const std::uint8_t* block, float* out) noexcept {
    detail::decode_iq4(block + 2, detail::load_half(block), out);
  }
  static void encode(const float* x, const detail::Importance& importance,
                     std::uint8_t* block) noexcept {
    float weights[elements];
    const float sigma2 = detail::sum_of_squares(x, elements) * (2.0f / 32.0f);
    detail::iq4_weights(x, importance.columns, sigma2, weights);
    const float d = detail::search_iq4(x, weights);
    detail::store_half(block, d);
    detail::encode_iq4(x, detail::inverse(d), block + 2);
  }
  static void store(float d, const std::uint8_t* codes, std::uint8_t* block) noexcept {
    detail::store_half(block, d);
    detail::store_nibbles(codes, codes + 16, 16, block + 2);
  }
};

/// d * (scale - 32) * value(code): d as float16, eight scales of 6 bits, their high 2 bits in a
/// 16-bit word and their low 4 in nibbles, and 256 codes of 4 bits.
struct IQ4_XS {
  static constexpr Type type = Type::iq4_xs;
  static constexpr std::size_t elements = 256, bytes = 136, sub_block = 32;
  static constexpr bool uses_importance = true;
  static constexpr int low_scale = -32;
  using Scales = detail::SymmetricScales<8>;

  static void decode(const std::uint8_t* block, float* out) noexcept {
    Scales fields;
    load_scales(block, fields);
    for (std::size_t k = 0; k < 8; ++k)
      detail::decode_iq4(block + 8 + 16 * k, fields.d * static_cast<float>(fields.scales[k]),
                         out + 32 * k);
  }
  static void load_scales(const std::uint8_t* block, Scales& fields) noexcept {
    fields.d = detail::load_half(block);
    for (std::size_t k = 0; k < 8; ++k) {
      const int low = block[4 + k / 2] >> 4 * (k % 2) & 15, high = block[2 + k / 4] >> 2 * (k % 4);
      fields.scales[k] = (low | (high & 3) << 4) - 32;
    }
  }
  static void encode(const float* x, const detail::Importance& importance,
                     std::uint8_t* block) noexcept {
    const float sigma2 = detail::sum_of_squares(x, elements) * (2.0f / 256.0f);
    float scales[8], weights[32];
    for (std::size_t k = 0; k < 8; ++k) {
      const float* const columns = importance.columns;
      detail::iq4_weights(x + 32 * k, columns != nullptr ? columns + 32 * k : nullptr, sigma2,
                          weights);
      scales[k] = detail::search_iq4(x + 32 * k, weights);
    }
    const float d = -detail::extreme(scales, 8) / 32.0f, id = detail::inverse(d);
    Scales stored;
    stored.d = d;
    for (std::size_t k = 0; k < 8; ++k) {
      stored.scales[k] = detail::nearest_in(detail::uncontracted(id * scales[k]), -32, 31);
      const float step = detail::uncontracted(d * static_cast<float>(stored.scales[k]));
      detail::encode_iq4(x + 32 * k, detail::inverse(step), block + 8 + 16 * k);
    }
    store_scales(stored, block);
  }
  static void store_scales(const Scales& fields, std::uint8_t* block) noexcept {
    std::fill_n(block, 8, std::uint8_t{0});
    detail::store_half(block, fields.d);
    for (std::size_t k = 0; k < 8; ++k) {
      const int stored = fields.scales[k] + 32;
      std::uint8_t &low = block[4 + k / 2], &high = block[2 + k / 4];
      low = static_cast<std::uint8_t>(low | (stored & 15) << 4 * (k % 2));
      high = static_cast<std::uint8_t>(high | stored >> 4 << 2 * (k % 4));
    }
  }
  static void store_codes(const std::uint8_t* codes, std::uint8_t* block) noexcept {
    for (std::size_t k = 0; k < 8; ++k)
      detail::store_nibbles(codes + 32 * k, codes + 32 * k + 16, 16, block + 8 + 16 * k);
  }
};

}  // namespace tq::layouts::gguf

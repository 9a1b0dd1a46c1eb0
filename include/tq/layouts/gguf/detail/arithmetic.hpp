// SPDX-License-Identifier: MIT
#pragma once
// The arithmetic of ggml's reference quantizers: float32, a rounding after every operation.

#include <tq/core/float_elements.hpp>
#include <tq/numeric/overflow.hpp>
#include <tq/numeric/rounding.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace tq::layouts::gguf::detail {

using tq::detail::uncontracted;

[[nodiscard]] inline float load_half(const std::uint8_t* from) noexcept {
  return float16::format::decode(static_cast<std::uint32_t>(from[0] | from[1] << 8));
}
// Rounds to nearest even; values beyond float16 become infinite.
inline void store_half(std::uint8_t* to, float value) noexcept {
  const std::uint32_t code = float16::format::template encode<NonSaturate>(value);
  to[0] = static_cast<std::uint8_t>(code & 0xffu);
  to[1] = static_cast<std::uint8_t>(code >> 8);
}

// a * b + c with two roundings, also where the compiler may fuse.
[[nodiscard]] inline float product_plus(float a, float b, float c) noexcept {
  return uncontracted(a * b) + c;
}

// w * x * y, from the left.
[[nodiscard]] inline float triple(float w, float x, float y) noexcept {
  return uncontracted(uncontracted(w * x) * y);
}

// The nearest integer, ties to even, of |v| below 2^22; other values give some integer, as in ggml.
// Precondition: v is rounded, thus no product that the sum here could be fused with.
[[nodiscard]] inline int nearest(float v) noexcept {
  const auto pattern = std::bit_cast<std::int32_t>(v + 12582912.0f);
  return (pattern & 0x007fffff) - 0x00400000;
}
[[nodiscard]] inline int nearest_in(float v, int low, int high) noexcept {
  return std::max(low, std::min(high, nearest(v)));
}

// trunc(v) within [0, high], and 0 for NaN.
[[nodiscard]] inline int truncated_in(float v, int high) noexcept {
  return v >= 0.0f ? static_cast<int>(std::min(v, static_cast<float>(high))) : 0;
}
// Half away from zero, within [-limit, limit], and 0 for NaN.
[[nodiscard]] inline int half_away_in(float v, int limit) noexcept {
  const auto most = static_cast<float>(limit);
  return v == v ? static_cast<int>(std::round(std::clamp(v, -most, most))) : 0;
}

[[nodiscard]] inline float inverse(float v) noexcept { return v != 0.0f ? 1.0f / v : 0.0f; }

// The first value of largest magnitude, with its sign.
[[nodiscard]] inline float extreme(const float* x, std::size_t n) noexcept {
  float most = 0.0f, magnitude = 0.0f;
  for (std::size_t i = 0; i < n; ++i)
    if (std::fabs(x[i]) > magnitude) magnitude = std::fabs(x[i]), most = x[i];
  return most;
}

struct Bounds {
  float low, high;
};
// The first least and the first greatest value.
[[nodiscard]] inline Bounds bounds(const float* x, std::size_t n) noexcept {
  Bounds out{x[0], x[0]};
  for (std::size_t i = 1; i < n; ++i) {
    if (x[i] < out.low) out.low = x[i];
    if (x[i] > out.high) out.high = x[i];
  }
  return out;
}

[[nodiscard]] inline float sum_of_squares(const float* x, std::size_t n) noexcept {
  float sum = 0.0f;
  for (std::size_t i = 0; i < n; ++i) sum += uncontracted(x[i] * x[i]);
  return sum;
}

[[nodiscard]] inline float mean_square(const float* x, std::size_t n) noexcept {
  return sum_of_squares(x, n) / static_cast<float>(n);
}

// The importance of the columns of a block, or null, and the mean square of its row.
struct Importance {
  const float* columns = nullptr;
  float row_mean_square = 0.0f;
};

// The weight of each error of n values: importance * sqrt(mean square + x^2).
inline void error_weights(const float* x, const float* importance, float mean_square, std::size_t n,
                          float* weights) noexcept {
  for (std::size_t i = 0; i < n; ++i)
    weights[i] = uncontracted(importance[i] * std::sqrt(mean_square + uncontracted(x[i] * x[i])));
}

[[nodiscard]] inline float sum_of(const float* x, std::size_t n) noexcept {
  float sum = 0.0f;
  for (std::size_t i = 0; i < n; ++i) sum += x[i];
  return sum;
}

}  // namespace tq::layouts::gguf::detail

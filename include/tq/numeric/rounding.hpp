// SPDX-License-Identifier: MIT
#pragma once
// Rounding policies: how a real number on the code grid becomes an integer.

#include <tq/config.hpp>

#include <cmath>
#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace tq {

namespace detail {

// Stops the compiler from fusing the product that made `v` with a following sum: a fused
// multiply-add rounds once where the contract rounds twice, on some ISAs only.
template <std::floating_point T>
TQ_FORCE_INLINE constexpr T uncontracted(T v) noexcept {
  if (std::is_constant_evaluated()) return v;
#if defined(__SSE2__)
  __asm__("" : "+x"(v));
#elif defined(__aarch64__)
  __asm__("" : "+w"(v));
#elif defined(__GNUC__) || defined(__clang__)
  __asm__("" : "+m"(v));
#endif
  return v;
}

// The results of std::trunc, std::floor and std::nearbyint, also in constant expressions.
TQ_FORCE_INLINE constexpr float truncated(float v) noexcept {
  if (!std::is_constant_evaluated()) return std::trunc(v);
  return v > -0x1p23f && v < 0x1p23f ? static_cast<float>(static_cast<std::int32_t>(v)) : v;
}
TQ_FORCE_INLINE constexpr float floored(float v) noexcept {
  if (!std::is_constant_evaluated()) return std::floor(v);
  const float t = truncated(v);
  return t > v ? t - 1.0f : t;
}
TQ_FORCE_INLINE constexpr float nearest_even(float v) noexcept {
  if (!std::is_constant_evaluated()) return std::nearbyint(v);
  const float below = floored(v), fraction = v - below;
  const bool odd = below - 2.0f * floored(below / 2.0f) != 0.0f;
  return fraction > 0.5f || (fraction == 0.5f && odd) ? below + 1.0f : below;
}

// Chris Wellons' lowbias32 integer hash.
TQ_FORCE_INLINE constexpr std::uint32_t mix32(std::uint32_t h) noexcept {
  h ^= h >> 16;
  h *= 0x7feb352du;
  h ^= h >> 15;
  h *= 0x846ca68bu;
  h ^= h >> 16;
  return h;
}

// The keys under which the low 32 bits of an element index are hashed.
struct DrawKeys {
  std::uint32_t first, second;
};
TQ_FORCE_INLINE constexpr DrawKeys draw_keys(std::uint64_t seed, std::uint64_t index) noexcept {
  const auto high = static_cast<std::uint32_t>(index >> 32);
  return {mix32(static_cast<std::uint32_t>(seed) ^ mix32(high + 0x9e3779b9u)),
          mix32(static_cast<std::uint32_t>(seed >> 32) + 0x85ebca6bu)};
}

// A number in [0, 1) on a grid of 2^-24, from seed and element index alone.
TQ_FORCE_INLINE constexpr float uniform(std::uint64_t seed, std::uint64_t index) noexcept {
  const DrawKeys k = draw_keys(seed, index);
  const std::uint32_t h = mix32(mix32(static_cast<std::uint32_t>(index) ^ k.first) + k.second);
  return static_cast<float>(h >> 8) * 0x1p-24f;
}

}  // namespace detail

/// To the nearest integer, ties to the even one (IEEE 754 default; ONNX, PyTorch, FP8, MX).
struct NearestEven {
  static constexpr std::string_view name = "nearest_even";
  TQ_FORCE_INLINE constexpr float operator()(float v, std::uint64_t) const noexcept {
    return detail::nearest_even(v);
  }
};

/// To the nearest integer, ties away from zero (C `round`; gemmlowp, ggml Q8_0).
struct HalfAway {
  static constexpr std::string_view name = "half_away";
  TQ_FORCE_INLINE constexpr float operator()(float v, std::uint64_t) const noexcept {
    if (!std::is_constant_evaluated()) return std::round(v);
    const float toward_zero = detail::truncated(v), fraction = v - toward_zero;
    return fraction >= 0.5f    ? toward_zero + 1.0f
           : fraction <= -0.5f ? toward_zero - 1.0f
                               : toward_zero;
  }
};

/// To the nearest integer, ties towards +infinity: floor(v + 1/2) without its double rounding.
struct HalfUp {
  static constexpr std::string_view name = "half_up";
  TQ_FORCE_INLINE constexpr float operator()(float v, std::uint64_t) const noexcept {
    const float below = detail::floored(v);
    return detail::uncontracted(v) - below >= 0.5f ? below + 1.0f : below;
  }
};

/// Drops the fraction.
struct TowardZero {
  static constexpr std::string_view name = "toward_zero";
  TQ_FORCE_INLINE constexpr float operator()(float v, std::uint64_t) const noexcept {
    return detail::truncated(v);
  }
};

/// To the integer below.
struct Floor {
  static constexpr std::string_view name = "floor";
  TQ_FORCE_INLINE constexpr float operator()(float v, std::uint64_t) const noexcept {
    return detail::floored(v);
  }
};

/// Up with the probability of the fraction, so the expected code is the real value. The draw
/// depends on the seed and the element's index in the output (its distance from `data()`) only: not
/// on ISA, threads or chunking.
struct Stochastic {
  static constexpr std::string_view name = "stochastic";
  std::uint64_t seed = 0;
  TQ_FORCE_INLINE constexpr float operator()(float v, std::uint64_t index) const noexcept {
    const float below = detail::floored(v);
    return detail::uncontracted(v) - below > detail::uniform(seed, index) ? below + 1.0f : below;
  }
};

/// A rounding policy maps a finite value and its element index to an integral float and keeps
/// integers. Smallest model:
///
///     struct Floor {
///       static constexpr std::string_view name = "floor";
///       TQ_FORCE_INLINE float operator()(float v, std::uint64_t) const noexcept { return
///       std::floor(v); }
///     };
template <class R>
concept Rounding = std::copyable<R> && requires(const R r, float v, std::uint64_t index) {
  { R::name } -> std::convertible_to<std::string_view>;
  { r(v, index) } noexcept -> std::same_as<float>;
};

namespace detail {
/// Whether a rounding may be stochastic, by the index of an element: every one that is not known to
/// be deterministic.
template <class R>
inline constexpr bool may_be_stochastic =
    !(std::same_as<R, NearestEven> || std::same_as<R, HalfAway> || std::same_as<R, HalfUp> ||
      std::same_as<R, TowardZero> || std::same_as<R, Floor>);
}  // namespace detail

}  // namespace tq

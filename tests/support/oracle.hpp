// SPDX-License-Identifier: MIT
#pragma once
// The numeric contract once more, from its definition and in double: what kernels and operations
// are compared with. It shares nothing with the library but the names of the policies.
//
// Double is wide enough to be exact where it matters: a quotient of two floats rounded to double
// and then to float is the correctly rounded one (53 >= 2 * 24 + 2, and a tie of fewer bits would
// need a product of 48 bits that is closer to x than it can be), and products of two floats, or of
// a code and a float, are exact.

#include <tq/numeric/numerics.hpp>

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>

namespace oracle {

inline bool is_nan(double v) { return !(v == v); }

/// fl(x / s), or fl(x * fl(1 / s)).
template <class Scaling>
float quotient(float x, float s) {
  if constexpr (std::same_as<Scaling, tq::Reciprocal>) {
    const auto inverse = static_cast<float>(1.0 / static_cast<double>(s));
    return static_cast<float>(static_cast<double>(x) * static_cast<double>(inverse));
  } else {
    static_assert(std::same_as<Scaling, tq::Divide>);
    return static_cast<float>(static_cast<double>(x) / static_cast<double>(s));
  }
}

// The documented draw: 24 bits of a hash of seed and element index.
inline std::uint32_t hash32(std::uint64_t h) {
  constexpr std::uint64_t all = 0xffffffffu;
  h = ((h ^ (h >> 16)) * 0x7feb352du) & all;
  h = ((h ^ (h >> 15)) * 0x846ca68bu) & all;
  return static_cast<std::uint32_t>(h ^ (h >> 16));
}
inline double draw(std::uint64_t seed, std::uint64_t index) {
  const std::uint64_t all = 0xffffffffu;
  const std::uint64_t first = hash32((seed & all) ^ hash32(((index >> 32) + 0x9e3779b9u) & all));
  const std::uint64_t second = hash32(((seed >> 32) + 0x85ebca6bu) & all);
  const std::uint32_t h = hash32((hash32((index & all) ^ first) + second) & all);
  return std::ldexp(static_cast<double>(h / 256), -24);
}

inline double round(const tq::NearestEven&, double v, std::uint64_t) {
  const double below = std::floor(v), part = v - below;
  if (part != 0.5) return part > 0.5 ? below + 1 : below;
  return std::fmod(below, 2.0) == 0 ? below : below + 1;
}
inline double round(const tq::HalfAway&, double v, std::uint64_t) {
  const double size = std::fabs(v), below = std::floor(size);
  return std::copysign(size - below >= 0.5 ? below + 1 : below, v);
}
inline double round(const tq::HalfUp&, double v, std::uint64_t) {
  const double below = std::floor(v);
  return v - below >= 0.5 ? below + 1 : below;
}
inline double round(const tq::TowardZero&, double v, std::uint64_t) {
  return v < 0 ? std::ceil(v) : std::floor(v);
}
inline double round(const tq::Floor&, double v, std::uint64_t) { return std::floor(v); }
inline double round(const tq::Stochastic& r, double v, std::uint64_t index) {
  const double below = std::floor(v);
  // The fraction is a float as well: draws have no more bits than it.
  return static_cast<double>(static_cast<float>(v - below)) > draw(r.seed, index) ? below + 1
                                                                                  : below;
}

/// clamp(round(x / s), qmin - z, qmax - z) + z. Rounds first and clamps then, as the formula says.
template <class N>
std::int32_t quantize(float x, float s, std::int32_t zero, std::int32_t qmin, std::int32_t qmax,
                      const N& n, std::uint64_t index = 0) {
  const auto v = static_cast<double>(quotient<typename N::scaling_type>(x, s));
  if (is_nan(v)) return std::same_as<typename N::nan_type, tq::NanToMin> ? qmin : zero;
  const double lo = double{static_cast<double>(qmin)} - zero, hi = static_cast<double>(qmax) - zero;
  if (std::isinf(v)) return v < 0 ? qmin : qmax;
  const double r = round(n.rounding, v, index);
  return static_cast<std::int32_t>((r < lo ? lo : r > hi ? hi : r) + zero);
}

/// fl(fl(q - z) * s). Differences of codes of 16 bits are exact.
inline float dequantize(std::int32_t code, float s, std::int32_t zero) {
  const auto steps = static_cast<float>(static_cast<double>(code) - static_cast<double>(zero));
  return static_cast<float>(static_cast<double>(steps) * static_cast<double>(s));
}

/// clamp(round(fl(x - m) / s), qmin, qmax), the quotient a float too. NaN becomes what 0 does, or
/// qmin. Rounds first and clamps then, as the formula says.
template <class N>
std::int32_t quantize_offset(float x, float s, float m, std::int32_t qmin, std::int32_t qmax,
                             const N& n, std::uint64_t index = 0) {
  if (is_nan(static_cast<double>(x))) {
    if (std::same_as<typename N::nan_type, tq::NanToMin>) return qmin;
    x = 0;
  }
  const auto difference = static_cast<float>(static_cast<double>(x) - static_cast<double>(m));
  const auto v = static_cast<double>(quotient<typename N::scaling_type>(difference, s));
  if (is_nan(v)) return 0;  // 0 times an infinite reciprocal
  if (std::isinf(v)) return v < 0 ? qmin : qmax;
  const double r = round(n.rounding, v, index);
  return static_cast<std::int32_t>(r < qmin ? qmin : r > qmax ? qmax : r);
}

/// fl(fl(q * s) + m). The sum of two floats, rounded to double and then to float, is the one
/// rounded once.
inline float dequantize_offset(std::int32_t code, float s, float m) {
  const auto product = static_cast<float>(static_cast<double>(code) * static_cast<double>(s));
  return static_cast<float>(static_cast<double>(product) + static_cast<double>(m));
}

/// Same bits; every NaN is alike.
inline bool same(float a, float b) {
  return (is_nan(a) && is_nan(b)) ||
         std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

}  // namespace oracle

// SPDX-License-Identifier: MIT
#pragma once
// Values and scales that are hard on quantization, from a generator with a fixed seed.

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace inputs {

/// splitmix64: the same numbers on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t bits() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// In [0, n).
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(bits() % n); }
  int between(int lo, int hi) {
    const auto n = static_cast<std::size_t>(std::int64_t{hi} - lo + 1);
    return static_cast<int>(lo + static_cast<std::int64_t>(below(n)));
  }
  /// In [0, 1).
  double unit() { return std::ldexp(static_cast<double>(bits() >> 11), -53); }
  double normal() {
    const double r = std::sqrt(-2 * std::log(1 - unit()));
    return r * std::cos(6.283185307179586 * unit());
  }
  bool chance(int percent) { return below(100) < static_cast<std::size_t>(percent); }

 private:
  std::uint64_t state_;
};

/// `ulps` floats further up in magnitude.
inline float nudge(float v, int ulps) {
  if (!(std::fabs(v) <= std::numeric_limits<float>::max()) || std::fabs(v) < 1e-44f) return v;
  return std::bit_cast<float>(std::bit_cast<std::int32_t>(v) + ulps);
}

inline float any_bits(Random& r) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(r.bits()));
}

/// A positive finite scale: mostly ordinary; all-ones significands, powers of two, and both ends of
/// the range.
inline float scale(Random& r) {
  switch (r.below(13)) {
    case 12:
      return static_cast<float>(
          std::ldexp(1 + r.unit(), r.between(-128, -102)));  // remainders underflow
    case 0:
      return std::bit_cast<float>((static_cast<std::uint32_t>(r.between(100, 150)) << 23) |
                                  0x7fffffu);
    case 1: return std::ldexp(1.0f, r.between(-20, 20));
    case 2:
      return std::bit_cast<float>(static_cast<std::uint32_t>(1 + r.below(0x7fffff)));  // subnormal
    case 3: return static_cast<float>(std::ldexp(1 + r.unit(), r.between(110, 126)));  // huge
    case 4: return static_cast<float>(std::ldexp(1 + r.unit(), r.between(-66, -62)));
    case 5: return static_cast<float>(std::ldexp(1 + r.unit(), r.between(62, 66)));
    case 6: return r.chance(50) ? 0x1p-64f : 0x1p64f;
    case 7: return r.chance(50) ? 1e-45f : 1e38f;
    default: return static_cast<float>(std::ldexp(1 + r.unit(), r.between(-10, 4)));
  }
}
/// A scale for which the fast paths may use the corrected reciprocal.
inline float ordinary_scale(Random& r) {
  return static_cast<float>(std::ldexp(1 + r.unit(), r.between(-12, 6)));
}

/// A value to be divided by `s`.
inline float value(Random& r, float s) {
  const auto at = [&](double steps) { return static_cast<float>(steps * static_cast<double>(s)); };
  const int sign = r.chance(50) ? 1 : -1;
  switch (r.below(24)) {
    case 0: return std::numeric_limits<float>::quiet_NaN();
    case 1: return static_cast<float>(sign) * std::numeric_limits<float>::infinity();
    case 2: return sign > 0 ? 0.0f : -0.0f;
    case 3:
      return static_cast<float>(sign) *
             std::bit_cast<float>(static_cast<std::uint32_t>(1 + r.below(0x7fffff)));
    case 4: return static_cast<float>(sign) * std::numeric_limits<float>::max();
    case 5: return nudge(at(sign * 2147483648.0), r.between(-2, 2));
    case 6: return nudge(at(sign * (32766.5 + r.between(0, 4) * 0.5)), r.between(-2, 2));
    case 7: return nudge(at(sign * (65534.5 + r.between(0, 4) * 0.5)), r.between(-2, 2));
    case 8: return any_bits(r);
    case 9: return at(sign * static_cast<double>(r.between(0, 40000)) * 4);
    case 10:
    case 11:
    case 12:
    case 13:
    case 14:
      return nudge(at(r.between(-260, 260) + 0.5), r.between(-2, 2));  // ties and their neighbours
    case 15: return nudge(at(r.between(-9, 9) + 0.5), r.between(-2, 2));
    case 16: return nudge(at(r.between(-40000, 70000) + 0.5), r.between(-2, 2));
    case 17: return nudge(at(r.between(-130, 130)), r.between(-2, 2));
    case 18: return at(r.normal() * 20000);
    default: return at(r.normal() * 80);
  }
}
/// The same without what sends whole blocks down the rare path.
inline float ordinary_value(Random& r, float s) {
  const auto at = [&](double steps) { return static_cast<float>(steps * static_cast<double>(s)); };
  return r.chance(50) ? nudge(at(r.between(-260, 260) + 0.5), r.between(-2, 2))
                      : at(r.normal() * 80);
}

/// n values that are normally distributed, and nothing else.
inline std::vector<float> normals(std::size_t n, std::uint64_t seed, double sigma = 1) {
  Random r(seed);
  std::vector<float> x(n);
  for (float& v : x) v = static_cast<float>(sigma * r.normal());
  return x;
}

}  // namespace inputs

// SPDX-License-Identifier: MIT
#pragma once
// Finite values at the ends of float32 and of the types that scales are stored in, and what must
// hold when they come back.

#include "support/inputs.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace extremes {

inline constexpr float biggest = std::numeric_limits<float>::max(),
                       least = std::numeric_limits<float>::denorm_min();

/// The magnitude a tensor is made of, by number.
inline const std::vector<float>& magnitudes() {
  static const std::vector<float> list{
      biggest,  0x1.fffffcp127f, 0x1.fep127f,  // the largest of float32 and bfloat16
      0x1p127f, 0x1.8p126f,      65504.0f,    65520.0f,  448.0f * 6, 1.0f,
      6e-8f,    1e-9f,           0x1p-100f,   0x1p-126f, 1e-40f,     least};
  return list;
}

/// `n` values of that magnitude, signs drawn: all as large; one as large and the others ordinary;
/// blocks of 32 next to nothing, or zeros, beside it; everything between it and nothing.
inline constexpr int kinds = 4;
inline std::vector<float> tensor(std::size_t n, float magnitude, int kind, inputs::Random& r) {
  std::vector<float> x(n);
  const std::size_t place = r.below(n);
  for (std::size_t i = 0; i < n; ++i) {
    const float nothing = i / 32 % 3 == 0 ? 0.0f : i / 32 % 3 == 1 ? 1e-9f : least;
    const float size = kind == 0    ? magnitude
                       : i == place ? magnitude
                       : kind == 1  ? static_cast<float>(r.normal())
                       : kind == 2
                           ? nothing
                           : static_cast<float>(double{magnitude} *
                                                std::ldexp(1 - r.unit() / 2, -r.between(0, 30)));
    x[i] = r.chance(50) ? -size : size;
  }
  return x;
}

/// How many of the values that came back are not finite.
inline std::size_t not_finite(const std::vector<float>& back) {
  return static_cast<std::size_t>(
      std::count_if(back.begin(), back.end(), [](float v) { return !std::isfinite(v); }));
}

/// How many are more than twice as large as they were, a step of float32's subnormals aside: of
/// types with a code for 0 none can be, as 0 would be nearer.
inline std::size_t amplified(const std::vector<float>& x, const std::vector<float>& back) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    count += std::fabs(static_cast<double>(back[i])) >
             2 * (1 + 1e-6) * std::fabs(static_cast<double>(x[i])) + static_cast<double>(least);
  return count;
}

inline float largest(const float* first, const float* last) {
  float top = 0;
  for (; first != last; ++first) top = std::max(top, std::fabs(*first));
  return top;
}

/// As `amplified`, of blocks of neighbours by their largest magnitude.
inline std::size_t amplified_blocks(const std::vector<float>& x, const std::vector<float>& back,
                                    std::size_t block) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < x.size(); i += block) {
    const std::size_t end = std::min(x.size(), i + block);
    const std::vector<float> was{largest(x.data() + i, x.data() + end)},
        is{largest(back.data() + i, back.data() + end)};
    count += amplified(was, is);
  }
  return count;
}

}  // namespace extremes

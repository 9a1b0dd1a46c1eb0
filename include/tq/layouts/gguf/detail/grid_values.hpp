// SPDX-License-Identifier: MIT
#pragma once
// GridValues: a sub-block as integers of 15 bits, on which a candidate grid is tried in one pass.

#include <tq/config.hpp>
#include <tq/layouts/gguf/detail/real.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace tq::layouts::gguf::detail {

// The sums of the codes q of a grid: w q, w q q and w x q.
struct GridSums {
  std::int32_t q = 0, qq = 0, xq = 0;
};

template <std::size_t N, bool Weighted>
struct GridValues {
  static constexpr double fine = 32767.0;

  std::int32_t x[N];                  // of `fine` steps
  std::int32_t w[N], wx[N];           // weights of `fine` steps, and w x / 2^15
  std::int32_t sum_w = 0, sum_x = 0;  // and of w x
  double relative_weight = 1.0;       // the weight of a step of w

  // x = (value - low) * steps, at most `fine` in magnitude.
  void load(const float* values, float low, float steps, const float* weights) noexcept {
    for (std::size_t i = 0; i < N; ++i) x[i] = halved((values[i] - low) * (2.0f * steps));
    if constexpr (Weighted) {
      const float most = *std::max_element(weights, weights + N);
      const float unit = most > 1e-30f ? 65534.0f / most : 0.0f;
      relative_weight = most > 1e-30f ? static_cast<double>(most) / fine : 0.0;
      for (std::size_t i = 0; i < N; ++i) w[i] = halved(weights[i] * unit);
      for (std::size_t i = 0; i < N; ++i) wx[i] = (w[i] * x[i] + (1 << 14)) >> 15;
      sum_w = sum_x = 0;
      for (std::size_t i = 0; i < N; ++i) sum_w += w[i], sum_x += wx[i];
    } else {
      sum_w = static_cast<std::int32_t>(N), sum_x = 0;
      for (std::size_t i = 0; i < N; ++i) sum_x += x[i];
    }
  }

  // The sums of q = clamp(floor((x step + offset) / 2^shift), low, high). The product and sum fit
  // 32 bits for steps up to 40000 and offsets up to 8e8 in magnitude. Compilers make one loop of it
  // only while it is a function of its own.
  [[nodiscard]] TQ_NO_INLINE GridSums sums(std::int32_t step, std::int32_t offset, int shift,
                                           std::int32_t low, std::int32_t high) const noexcept {
    std::int32_t q1 = 0, q2 = 0, xq = 0;
    for (std::size_t i = 0; i < N; ++i) {
      const std::int32_t at = (x[i] * step + offset) >> shift;
      const std::int32_t q = at < low ? low : at > high ? high : at;
      if constexpr (Weighted) {
        const std::int32_t wq = w[i] * q;
        q1 += wq, q2 += wq * q, xq += wx[i] * q;
      } else {
        q1 += q, q2 += q * q, xq += x[i] * q;
      }
    }
    return {q1, q2, xq};
  }

  // The factor that takes `xq` and `sum_x` to steps.
  static constexpr double product_unit = Weighted ? 32768.0 : 1.0;

 private:
  // round(twice / 2), of a number that was made without a sum that could be fused.
  static std::int32_t halved(float twice) noexcept {
    return (static_cast<std::int32_t>(twice) + 1) >> 1;
  }
};

// An integer for `GridValues::sums`.
[[nodiscard]] inline std::int32_t grid_step(Real v) noexcept {
  return static_cast<std::int32_t>(std::min((v + 0.5).value, 40000.0));
}
[[nodiscard]] inline std::int32_t grid_offset(Real v) noexcept {
  return static_cast<std::int32_t>(std::clamp(v.value, -8e8, 8e8));
}

}  // namespace tq::layouts::gguf::detail

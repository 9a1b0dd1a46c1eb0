// SPDX-License-Identifier: MIT
#pragma once
// The largest finite magnitude of each of many short stretches: what the scales of block formats are made of.

#include <tq/arch/lanes.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>

namespace tq::kernels {

/// `rows` writes for each of `count` stretches of `length` values, `stride` apart, the largest magnitude of its finite
/// values; 0 where there is none.
template <class Arch>
struct abs_max;

namespace detail {
// Arch is in the name, not in the code: one symbol per instruction set.
template <class Arch>
inline float abs_max_exactly(const float* x, std::size_t n) noexcept {
  std::uint32_t top = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(x[i]) & 0x7fffffffu;
    top = magnitude < 0x7f800000u && magnitude > top ? magnitude : top;
  }
  return std::bit_cast<float>(top);
}
}  // namespace detail

/// Without SIMD.
template <>
struct abs_max<arch::scalar> {
  static void rows(const float* x, std::size_t count, std::size_t length, std::ptrdiff_t stride, float* out) noexcept {
    for (std::size_t k = 0; k < count; ++k, x += stride)
      out[k] = detail::abs_max_exactly<arch::scalar>(x, length);
  }
};

#if TQ_HAS_SIMD

template <class Arch>
struct abs_max {
  static void rows(const float* x, std::size_t count, std::size_t length, std::ptrdiff_t stride, float* out) noexcept {
    for (std::size_t k = 0; k < count; k += together) {
      const std::size_t n = count - k < together ? count - k : together;
      const float* at = x + static_cast<std::ptrdiff_t>(k) * stride;
      std::size_t done = length >= width ? n / 4 * 4 : 0;
      if (!fours(at, done, length, stride, out + k)) [[unlikely]] done = 0;
      for (; done < n; ++done) out[k + done] = one(at + static_cast<std::ptrdiff_t>(done) * stride, length);
    }
  }

 private:
  using I = arch::ints<Arch>;
  static constexpr std::size_t width = arch::width<Arch>, together = 64;  // stretches until a look at NaN and infinities
  static TQ_FORCE_INLINE I magnitude(const float* x) noexcept {
    return arch::bit_cast<std::int32_t>(arch::load_in_order<Arch>(x)) & I(0x7fffffff);
  }
  // Magnitudes as bits, which have the order of the values. Precondition: length >= width.
  static TQ_FORCE_INLINE I row(const float* x, std::size_t length) noexcept {
    I part[4] = {I(0), I(0), I(0), I(0)};  // independent chains hide the latency
    std::size_t i = 0;
    for (; i + 4 * width <= length; i += 4 * width)
      TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) part[k] = xsimd::max(part[k], magnitude(x + i + k * width));
    for (; i + width < length; i += width) part[0] = xsimd::max(part[0], magnitude(x + i));
    part[1] = xsimd::max(part[1], magnitude(x + length - width));
    return xsimd::max(xsimd::max(part[0], part[1]), xsimd::max(part[2], part[3]));
  }
  // Four of them in step.
  static TQ_FORCE_INLINE void short_rows(const float* x, std::size_t length, std::ptrdiff_t stride, I (&top)[4]) noexcept {
    TQ_UNROLL for (std::ptrdiff_t r = 0; r < 4; ++r) top[r] = magnitude(x + r * stride + length - width);
    for (std::size_t i = 0; i + width < length; i += width)
      TQ_UNROLL for (std::ptrdiff_t r = 0; r < 4; ++r) top[r] = xsimd::max(top[r], magnitude(x + r * stride + i));
  }
  // `count` stretches by fours, which share the way across the lanes; false where there is a NaN or an infinity.
  static TQ_FORCE_INLINE bool fours(const float* x, std::size_t count, std::size_t length, std::ptrdiff_t stride,
                                    float* out) noexcept {
    using arch::bit_cast;
    I most(0);
    for (std::size_t k = 0; k < count; k += 4, x += 4 * stride) {
      I top[4];
      if (length >= 16 * width)
        TQ_ONE_COPY for (std::ptrdiff_t r = 0; r < 4; ++r) top[r] = row(x + r * stride, length);
      else
        short_rows(x, length, stride, top);
      most = xsimd::max(most, xsimd::max(xsimd::max(top[0], top[1]), xsimd::max(top[2], top[3])));
      arch::lanes<Arch>::highest4(out + k, bit_cast<float>(top[0]), bit_cast<float>(top[1]), bit_cast<float>(top[2]),
                                  bit_cast<float>(top[3]));
    }
    return !xsimd::any(most > I(0x7f7fffff));
  }
  static float one(const float* x, std::size_t length) noexcept {
    if (length >= width) {
      const I all = row(x, length);
      if (!xsimd::any(all > I(0x7f7fffff))) return arch::lanes<Arch>::highest(arch::bit_cast<float>(all));
    }
    return detail::abs_max_exactly<Arch>(x, length);
  }
};

#endif

}  // namespace tq::kernels

// SPDX-License-Identifier: MIT
#pragma once
// group_dot<neon64>: 128-bit registers of AArch64, with the dot product where the compiler may use
// it. Included by group_dot.hpp, which describes the members.

#include <tq/arch/group_dot_base.hpp>

#if TQ_HAS_SIMD && defined(__aarch64__)

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

namespace tq::arch {

namespace detail {

#if defined(__ARM_FEATURE_DOTPROD) && defined(__ARM_FEATURE_MATMUL_INT8)
// usdot: bytes of any size.
struct neon_steps : group_batches<xsimd::neon64> {
  static constexpr std::size_t reach = 255 * 8;
  using quads = int8x16_t;
  static TQ_FORCE_INLINE quads quads_of(int8x16_t x) noexcept { return x; }
  template <bool>
  static TQ_FORCE_INLINE int32x4_t add(int32x4_t s, uint8x16_t a, quads x) noexcept {
    return vusdotq_s32(s, a, x);
  }
};
#else
// Both bytes signed: levels that may be above 127 are taken 128 lower, and what that leaves out is
// added.
struct neon_steps : group_batches<xsimd::neon64> {
  static constexpr std::size_t reach = 127;
  struct quads {
    int8x16_t numbers;
    int32x4_t left_out;  // 128 times their sum
  };
  static TQ_FORCE_INLINE quads quads_of(int8x16_t x) noexcept {
    return {x, vshlq_n_s32(dot(vdupq_n_s32(0), vdupq_n_s8(1), x), 7)};
  }
  template <bool Wide>
  static TQ_FORCE_INLINE int32x4_t add(int32x4_t s, uint8x16_t a, quads x) noexcept {
    if constexpr (!Wide) return dot(s, vreinterpretq_s8_u8(a), x.numbers);
    else
      return dot(vaddq_s32(s, x.left_out), vreinterpretq_s8_u8(veorq_u8(a, vdupq_n_u8(128))),
                 x.numbers);
  }

 private:
  static TQ_FORCE_INLINE int32x4_t dot(int32x4_t s, int8x16_t a, int8x16_t b) noexcept {
#if defined(__ARM_FEATURE_DOTPROD)
    return vdotq_s32(s, a, b);
#else
    const int32x4_t low = vpaddlq_s16(vmull_s8(vget_low_s8(a), vget_low_s8(b))),
                    high = vpaddlq_s16(vmull_high_s8(a, b));
    return vaddq_s32(s, vpaddq_s32(low, high));
#endif
  }
};
#endif

}  // namespace detail

template <>
struct group_dot<xsimd::neon64> : detail::neon_steps {
  using base = detail::neon_steps;
  static constexpr std::size_t registers = 4, rows = 3, float_rows = 3;
  using levels = uint8x16_t;
  using tables = uint8x16_t;
  using parts = int32x4_t;

  static TQ_FORCE_INLINE levels load(const std::uint8_t* p) noexcept { return vld1q_u8(p); }
  static TQ_FORCE_INLINE void store(std::uint8_t* p, levels v) noexcept { vst1q_u8(p, v); }
  template <int Shift, int Mask>
  static TQ_FORCE_INLINE levels field(levels v) noexcept {
    if constexpr (Shift != 0) v = vshrq_n_u8(v, Shift);
    return vandq_u8(v, vdupq_n_u8(Mask));
  }
  template <int Shift>
  static TQ_FORCE_INLINE levels join(levels a, levels b) noexcept {
    return vorrq_u8(a, vshlq_n_u8(b, Shift));
  }
  static TQ_FORCE_INLINE tables table(const std::uint8_t* p) noexcept { return load(p); }
  static TQ_FORCE_INLINE levels lookup(tables t, levels v) noexcept { return vqtbl1q_u8(t, v); }
  using base::splat;
  static TQ_FORCE_INLINE quads splat(const std::int8_t* p) noexcept {
    return base::quads_of(vreinterpretq_s8_s32(vdupq_n_s32(bits_at<xsimd::neon64>(p))));
  }
  static TQ_FORCE_INLINE parts begin(const sums& s) noexcept { return s; }
  template <bool>
  static TQ_FORCE_INLINE sums end(const sums&, parts p) noexcept {
    return sums(p);
  }
  static TQ_FORCE_INLINE sums numbers(const std::uint8_t* p) noexcept {
    const uint8x8_t bytes = vreinterpret_u8_s32(vdup_n_s32(bits_at<xsimd::neon64>(p)));
    return sums(vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(vmovl_u8(bytes)))));
  }
  static TQ_FORCE_INLINE sums lanes(levels v) noexcept { return sums(vreinterpretq_s32_u8(v)); }
};

}  // namespace tq::arch

#endif

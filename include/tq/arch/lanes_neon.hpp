// SPDX-License-Identifier: MIT
#pragma once
// lanes<neon64>: 128-bit registers of AArch64. Included by lanes.hpp, which describes the members.

#include <tq/arch/batch.hpp>

#if TQ_HAS_SIMD && defined(__aarch64__)

#include <arm_neon.h>
#include <cstdint>
#include <cstring>

namespace tq::arch {

template <>
struct lanes<xsimd::neon64> {
  using A = xsimd::neon64;
  using words = int16x8_t;
  using bytes = uint8x16_t;
  static constexpr bool has_fma = true;
  static constexpr bool conversion_saturates = true;  // and NaN converts to 0
  static constexpr std::size_t W = 4;

  static TQ_FORCE_INLINE floats<A> fma(float32x4_t a, float32x4_t b, float32x4_t c) noexcept {
    return floats<A>(vfmaq_f32(c, a, b));
  }
  static TQ_FORCE_INLINE floats<A> fnma(float32x4_t a, float32x4_t b, float32x4_t c) noexcept {
    return floats<A>(vfmsq_f32(c, a, b));
  }
  static TQ_FORCE_INLINE words pack16(int32x4_t a, int32x4_t b) noexcept {
    return vcombine_s16(vqmovn_s32(a), vqmovn_s32(b));
  }
  static TQ_FORCE_INLINE words add16(words a, words b) noexcept { return vqaddq_s16(a, b); }
  static TQ_FORCE_INLINE words splat16(std::int32_t v) noexcept {
    return vdupq_n_s16(static_cast<std::int16_t>(v));
  }
  static TQ_FORCE_INLINE words min16(words p, words q) noexcept { return vminq_s16(p, q); }
  static TQ_FORCE_INLINE bool lowest16(words, words, words) noexcept { return false; }
  static TQ_FORCE_INLINE bool lowest8(bytes, bytes, bytes) noexcept { return false; }
  template <bool Signed>
  static TQ_FORCE_INLINE bytes narrow8(words p, words q) noexcept {
    if constexpr (Signed) return vreinterpretq_u8_s8(vcombine_s8(vqmovn_s16(p), vqmovn_s16(q)));
    else return vcombine_u8(vqmovun_s16(p), vqmovun_s16(q));
  }
  static TQ_FORCE_INLINE bytes order8(bytes b) noexcept { return b; }
  template <bool Signed>
  static TQ_FORCE_INLINE bytes pack8(words p, words q) noexcept {
    return narrow8<Signed>(p, q);
  }
  static TQ_FORCE_INLINE bytes splat8(std::int32_t v) noexcept {
    return vdupq_n_u8(static_cast<std::uint8_t>(v));
  }
  template <bool Signed>
  static TQ_FORCE_INLINE bytes clamp8(bytes b, bytes lo, bytes hi) noexcept {
    if constexpr (Signed) {
      const int8x16_t v = vmaxq_s8(vreinterpretq_s8_u8(b), vreinterpretq_s8_u8(lo));
      return vreinterpretq_u8_s8(vminq_s8(v, vreinterpretq_s8_u8(hi)));
    } else {
      return vminq_u8(vmaxq_u8(b, lo), hi);
    }
  }
  static TQ_FORCE_INLINE bytes load8(const void* p) noexcept {
    return vld1q_u8(static_cast<const std::uint8_t*>(p));
  }
  static TQ_FORCE_INLINE bool any8(bytes b, std::int32_t mask, std::int32_t value) noexcept {
    return vmaxvq_u8(vceqq_u8(vandq_u8(b, splat8(mask)), splat8(value))) != 0;
  }
  static TQ_FORCE_INLINE void store8(void* p, bytes b) noexcept {
    vst1q_u8(static_cast<std::uint8_t*>(p), b);
  }
  static TQ_FORCE_INLINE void stream8(void* p, bytes b) noexcept { store8(p, b); }
  static TQ_FORCE_INLINE void store4(void* p, bytes b) noexcept {
    const uint8x16_t m = vandq_u8(b, vdupq_n_u8(15));
    const uint8x8_t even = vget_low_u8(vuzp1q_u8(m, m)), odd = vget_low_u8(vuzp2q_u8(m, m));
    vst1_u8(static_cast<std::uint8_t*>(p), vorr_u8(even, vshl_n_u8(odd, 4)));
  }
  static TQ_FORCE_INLINE bytes pack4x2(bytes b, bytes c) noexcept {
    const uint8x16_t mask = vdupq_n_u8(15), m = vandq_u8(b, mask), n = vandq_u8(c, mask);
    return vorrq_u8(vuzp1q_u8(m, n), vshlq_n_u8(vuzp2q_u8(m, n), 4));
  }
  static TQ_FORCE_INLINE void store2(void* p, bytes b) noexcept {
    const uint8x16_t m = vandq_u8(b, vdupq_n_u8(3));
    const uint8x8_t even = vget_low_u8(vuzp1q_u8(m, m)), odd = vget_low_u8(vuzp2q_u8(m, m));
    const uint8x8_t n = vorr_u8(even, vshl_n_u8(odd, 2));  // two codes a byte
    const uint8x8_t d = vorr_u8(vuzp1_u8(n, n), vshl_n_u8(vuzp2_u8(n, n), 4));
    std::uint8_t four[8];
    vst1_u8(four, d);
    std::memcpy(p, four, 4);
  }
  static TQ_FORCE_INLINE bytes load4(const void* p) noexcept {
    const uint8x8_t v = vld1_u8(static_cast<const std::uint8_t*>(p));
    const uint8x8_t low = vand_u8(v, vdup_n_u8(15)), high = vshr_n_u8(v, 4);
    return vcombine_u8(vzip1_u8(low, high), vzip2_u8(low, high));
  }
  static TQ_FORCE_INLINE bytes load2(const void* p) noexcept {
    std::uint8_t eight[8] = {};
    std::memcpy(eight, p, 4);
    const uint8x8_t v = vld1_u8(eight);
    const uint8x8_t n = vzip1_u8(vand_u8(v, vdup_n_u8(15)), vshr_n_u8(v, 4));  // two codes a byte
    const uint8x8_t low = vand_u8(n, vdup_n_u8(3)), high = vshr_n_u8(n, 2);
    return vcombine_u8(vzip1_u8(low, high), vzip2_u8(low, high));
  }
  template <bool Signed>
  static TQ_FORCE_INLINE void widen8(const void* p, ints<A> (&out)[4]) noexcept {
    const uint8x16_t v = load8(p);
    if constexpr (Signed) {
      const int8x16_t s = vreinterpretq_s8_u8(v);
      const int16x8_t l = vmovl_s8(vget_low_s8(s)), h = vmovl_s8(vget_high_s8(s));
      widen_words(l, h, out);
    } else {
      const int16x8_t l = vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(v)));
      const int16x8_t h = vreinterpretq_s16_u16(vmovl_u8(vget_high_u8(v)));
      widen_words(l, h, out);
    }
  }
  template <bool Signed>
  static TQ_FORCE_INLINE void narrow16(const ints<A> (&v)[4], bytes (&out)[2]) noexcept {
    TQ_UNROLL for (int h = 0; h < 2; ++h) {
      const int32x4_t a = v[2 * h], b = v[2 * h + 1];  // in range: the low halves are the codes
      out[h] = vreinterpretq_u8_s16(vcombine_s16(vmovn_s32(a), vmovn_s32(b)));
    }
  }
  template <bool Signed>
  static TQ_FORCE_INLINE void widen16(const void* p, ints<A> (&out)[4]) noexcept {
    const auto* w = static_cast<const std::int16_t*>(p);
    if constexpr (Signed) {
      widen_words(vld1q_s16(w), vld1q_s16(w + 8), out);
    } else {
      TQ_UNROLL for (int h = 0; h < 2; ++h) {
        const uint16x8_t v = vreinterpretq_u16_s16(vld1q_s16(w + 8 * h));
        out[2 * h] = ints<A>(vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(v))));
        out[2 * h + 1] = ints<A>(vreinterpretq_s32_u32(vmovl_u16(vget_high_u16(v))));
      }
    }
  }
  static constexpr bool has_half = true;
  template <bool>
  static TQ_FORCE_INLINE void store_half(void* p, const floats<A> (&v)[4]) noexcept {
    TQ_UNROLL for (int k = 0; k < 4; ++k)
        vst1_f16(static_cast<__fp16*>(p) + 4 * k, vcvt_f16_f32(v[k]));
  }
  static TQ_FORCE_INLINE void load_half(const void* p, floats<A> (&v)[4]) noexcept {
    TQ_UNROLL for (int k = 0; k < 4; ++k) v[k] =
        floats<A>(vcvt_f32_f16(vld1_f16(static_cast<const __fp16*>(p) + 4 * k)));
  }
  template <int Shift, int Mask>
  static TQ_FORCE_INLINE void widen_half(const void* p, floats<A> (&v)[4]) noexcept {
    const int8x16_t b = vreinterpretq_s8_u8(load8(p));
    const int16x8_t part[2] = {vmovl_s8(vget_low_s8(b)), vmovl_s8(vget_high_s8(b))};
    TQ_UNROLL for (int k = 0; k < 4; k += 2) {
      const int16x8_t w =
          vandq_s16(vshlq_n_s16(part[k / 2], Shift), vdupq_n_s16(static_cast<std::int16_t>(Mask)));
      v[k] = floats<A>(vcvt_f32_f16(vreinterpret_f16_s16(vget_low_s16(w))));
      v[k + 1] = floats<A>(vcvt_f32_f16(vreinterpret_f16_s16(vget_high_s16(w))));
    }
  }
  static constexpr bool has_bfloat16 = false;
  static constexpr bool has_widen_packed = false;
  static TQ_FORCE_INLINE void stream(float* p, float32x4_t v) noexcept { vst1q_f32(p, v); }
  static TQ_FORCE_INLINE void fence() noexcept {}
  static TQ_FORCE_INLINE float lowest(float32x4_t v) noexcept { return vminvq_f32(v); }
  static TQ_FORCE_INLINE float highest(float32x4_t v) noexcept { return vmaxvq_f32(v); }
  static TQ_FORCE_INLINE void lowest4(float* p, float32x4_t a, float32x4_t b, float32x4_t c,
                                      float32x4_t d) noexcept {
    p[0] = lowest(a);
    p[1] = lowest(b);
    p[2] = lowest(c);
    p[3] = lowest(d);
  }
  static TQ_FORCE_INLINE void highest4(float* p, float32x4_t a, float32x4_t b, float32x4_t c,
                                       float32x4_t d) noexcept {
    p[0] = highest(a);
    p[1] = highest(b);
    p[2] = highest(c);
    p[3] = highest(d);
  }
  static TQ_FORCE_INLINE float32x4_t magnitude(float32x4_t v, float32x4_t limit) noexcept {
    return vminq_f32(vabsq_f32(v), limit);
  }
  static TQ_FORCE_INLINE int32x4_t merge(int32x4_t mask, int32x4_t p, int32x4_t q) noexcept {
    return vbslq_s32(vreinterpretq_u32_s32(mask), p, q);
  }
  static TQ_FORCE_INLINE bool any_nan(float32x4_t a, float32x4_t b, float32x4_t c,
                                      float32x4_t d) noexcept {
    const uint32x4_t ab = vandq_u32(vceqq_f32(a, a), vceqq_f32(b, b));
    return vminvq_u32(vandq_u32(ab, vandq_u32(vceqq_f32(c, c), vceqq_f32(d, d)))) == 0;
  }

 private:
  static TQ_FORCE_INLINE void widen_words(int16x8_t l, int16x8_t h, ints<A> (&out)[4]) noexcept {
    out[0] = ints<A>(vmovl_s16(vget_low_s16(l)));
    out[1] = ints<A>(vmovl_s16(vget_high_s16(l)));
    out[2] = ints<A>(vmovl_s16(vget_low_s16(h)));
    out[3] = ints<A>(vmovl_s16(vget_high_s16(h)));
  }
};

}  // namespace tq::arch

#endif

// SPDX-License-Identifier: MIT
#pragma once
// tap_dot<Arch>: a pair_dot whose lanes are channels, each with numbers and weights of its own, as
// a depthwise convolution has them. It has further
//   pairs(p)            W * 2 weights of 16 bits from memory
//   all(v)              v, of 16 bits, in every place of W * 2 numbers
//   beside(p, q, zero)  p[0], q[0], p[1], q[1] ...: W codes of 8 bits at either place, less zero

#include <tq/arch/batch.hpp>
#include <tq/arch/pair_dot.hpp>
#include <tq/arch/scalar.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#if TQ_HAS_SIMD && defined(__SSE2__)
#include <immintrin.h>
#endif
#if TQ_HAS_SIMD && defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace tq::arch {

template <class Arch>
struct tap_dot;

template <>
struct tap_dot<scalar> : pair_dot<scalar> {
  static numbers pairs(const std::int16_t* p) noexcept { return {p[0], p[1]}; }
  static numbers all(std::int32_t v) noexcept { return {v, v}; }
  template <class Code>
  static numbers beside(const Code* p, const Code* q, numbers zero) noexcept {
    return {*p - zero.first, *q - zero.second};
  }
};

#if TQ_HAS_SIMD && defined(__SSE2__)
template <>
struct tap_dot<xsimd::sse2> : pair_dot<xsimd::sse2> {
  static TQ_FORCE_INLINE numbers pairs(const std::int16_t* p) noexcept {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  }
  static TQ_FORCE_INLINE numbers all(std::int32_t v) noexcept {
    return _mm_set1_epi16(static_cast<short>(v));
  }
  template <class Code>
  static TQ_FORCE_INLINE numbers beside(const Code* p, const Code* q, numbers zero) noexcept {
    const __m128i b = _mm_unpacklo_epi8(_mm_cvtsi32_si128(bits_at<xsimd::sse2>(p)),
                                        _mm_cvtsi32_si128(bits_at<xsimd::sse2>(q)));
    const __m128i wide = std::is_signed_v<Code> ? _mm_srai_epi16(_mm_unpacklo_epi8(b, b), 8)
                                                : _mm_unpacklo_epi8(b, _mm_setzero_si128());
    return _mm_sub_epi16(wide, zero);
  }
};
#endif

#if TQ_HAS_SIMD && defined(__SSE4_2__)
template <>
struct tap_dot<xsimd::sse4_2> : tap_dot<xsimd::sse2> {};
#endif

#if TQ_HAS_SIMD && defined(__AVX2__)
template <>
struct tap_dot<xsimd::avx2> : pair_dot<xsimd::avx2> {
  static TQ_FORCE_INLINE numbers pairs(const std::int16_t* p) noexcept {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static TQ_FORCE_INLINE numbers all(std::int32_t v) noexcept {
    return _mm256_set1_epi16(static_cast<short>(v));
  }
  template <class Code>
  static TQ_FORCE_INLINE numbers beside(const Code* p, const Code* q, numbers zero) noexcept {
    const __m128i b = _mm_unpacklo_epi8(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)),
                                        _mm_loadl_epi64(reinterpret_cast<const __m128i*>(q)));
    const __m256i wide = std::is_signed_v<Code> ? _mm256_cvtepi8_epi16(b) : _mm256_cvtepu8_epi16(b);
    return _mm256_sub_epi16(wide, zero);
  }
};
#if defined(__FMA__)
template <>
struct tap_dot<xsimd::fma3<xsimd::avx2>> : tap_dot<xsimd::avx2> {};
#endif
#endif

#if TQ_HAS_SIMD && defined(__AVX512BW__)
template <>
struct tap_dot<xsimd::avx512bw> : pair_dot<xsimd::avx512bw> {
  static TQ_FORCE_INLINE numbers pairs(const std::int16_t* p) noexcept {
    return _mm512_loadu_si512(p);
  }
  static TQ_FORCE_INLINE numbers all(std::int32_t v) noexcept {
    return _mm512_set1_epi16(static_cast<short>(v));
  }
  template <class Code>
  static TQ_FORCE_INLINE numbers beside(const Code* p, const Code* q, numbers zero) noexcept {
    const __m512i even = widened(p), odd = _mm512_slli_epi32(widened(q), 16);
    return _mm512_sub_epi16(_mm512_mask_blend_epi16(0xaaaaaaaa, even, odd), zero);
  }

 private:
  template <class Code>
  static TQ_FORCE_INLINE __m512i widened(const Code* p) noexcept {
    const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return std::is_signed_v<Code> ? _mm512_cvtepi8_epi32(b) : _mm512_cvtepu8_epi32(b);
  }
};
#endif

#if TQ_HAS_SIMD && defined(__aarch64__)
template <>
struct tap_dot<xsimd::neon64> : pair_dot<xsimd::neon64> {
  static TQ_FORCE_INLINE numbers pairs(const std::int16_t* p) noexcept { return vld1q_s16(p); }
  static TQ_FORCE_INLINE numbers all(std::int32_t v) noexcept {
    return vdupq_n_s16(static_cast<std::int16_t>(v));
  }
  template <class Code>
  static TQ_FORCE_INLINE numbers beside(const Code* p, const Code* q, numbers zero) noexcept {
    const uint8x8_t b = vzip1_u8(vreinterpret_u8_s32(vdup_n_s32(bits_at<xsimd::neon64>(p))),
                                 vreinterpret_u8_s32(vdup_n_s32(bits_at<xsimd::neon64>(q))));
    const int16x8_t wide = std::is_signed_v<Code> ? vmovl_s8(vreinterpret_s8_u8(b))
                                                  : vreinterpretq_s16_u16(vmovl_u8(b));
    return vsubq_s16(wide, zero);
  }
};
#endif

}  // namespace tq::arch

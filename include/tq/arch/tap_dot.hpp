// SPDX-License-Identifier: MIT
#pragma once
// tap_dot<Arch>: a pair_dot whose lanes are channels, each with numbers and weights of its own, as
// a depthwise convolution has them. It has further
//   pairs(p)              W * 2 weights of 16 bits from memory
//   beside(p, q, out)     p[0], q[0], p[1], q[1] ...: W codes of 8 bits at either place for each
//                         register of `out`, an array of 1 or 4

#include <tq/arch/batch.hpp>
#include <tq/arch/pair_dot.hpp>
#include <tq/arch/scalar.hpp>
#include <tq/config.hpp>

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

namespace detail {
// Register after register, of instruction sets that tell how one is filled: beside(p, q).
template <class Arch>
struct taps_by_register : pair_dot<Arch> {
  using numbers = typename pair_dot<Arch>::numbers;
  template <class Code, std::size_t Registers>
  static TQ_FORCE_INLINE void beside(const Code* p, const Code* q,
                                     numbers (&out)[Registers]) noexcept {
    constexpr std::size_t width = pair_dot<Arch>::width;
    TQ_UNROLL
    for (std::size_t r = 0; r < Registers; ++r)
      out[r] = tap_dot<Arch>::beside(p + r * width, q + r * width);
  }
};
}  // namespace detail

template <>
struct tap_dot<scalar> : pair_dot<scalar> {
  static numbers pairs(const std::int16_t* p) noexcept { return {p[0], p[1]}; }
  template <class Code, std::size_t Registers>
  static void beside(const Code* p, const Code* q, numbers (&out)[Registers]) noexcept {
    for (std::size_t r = 0; r < Registers; ++r) out[r] = {p[r], q[r]};
  }
};

#if TQ_HAS_SIMD && defined(__SSE2__)
template <>
struct tap_dot<xsimd::sse2> : detail::taps_by_register<xsimd::sse2> {
  using detail::taps_by_register<xsimd::sse2>::beside;
  static TQ_FORCE_INLINE numbers pairs(const std::int16_t* p) noexcept {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  }
  template <class Code>
  static TQ_FORCE_INLINE numbers beside(const Code* p, const Code* q) noexcept {
    const __m128i b = _mm_unpacklo_epi8(_mm_cvtsi32_si128(bits_at<xsimd::sse2>(p)),
                                        _mm_cvtsi32_si128(bits_at<xsimd::sse2>(q)));
    return std::is_signed_v<Code> ? _mm_srai_epi16(_mm_unpacklo_epi8(b, b), 8)
                                  : _mm_unpacklo_epi8(b, _mm_setzero_si128());
  }
};
#endif

#if TQ_HAS_SIMD && defined(__SSE4_2__)
template <>
struct tap_dot<xsimd::sse4_2> : tap_dot<xsimd::sse2> {};
#endif

#if TQ_HAS_SIMD && defined(__AVX2__)
template <>
struct tap_dot<xsimd::avx2> : detail::taps_by_register<xsimd::avx2> {
  using detail::taps_by_register<xsimd::avx2>::beside;
  static TQ_FORCE_INLINE numbers pairs(const std::int16_t* p) noexcept {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  template <class Code>
  static TQ_FORCE_INLINE numbers beside(const Code* p, const Code* q) noexcept {
    const __m128i b = _mm_unpacklo_epi8(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)),
                                        _mm_loadl_epi64(reinterpret_cast<const __m128i*>(q)));
    return std::is_signed_v<Code> ? _mm256_cvtepi8_epi16(b) : _mm256_cvtepu8_epi16(b);
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
  template <class Code, std::size_t Registers>
  static TQ_FORCE_INLINE void beside(const Code* p, const Code* q,
                                     numbers (&out)[Registers]) noexcept {
    if constexpr (Registers == 4) {
      four(p, q, out);
    } else {
      TQ_UNROLL
      for (std::size_t r = 0; r < Registers; ++r)
        out[r] = _mm512_mask_blend_epi16(0xaaaaaaaa, widened(p + r * width),
                                         _mm512_slli_epi32(widened(q + r * width), 16));
    }
  }

 private:
  template <class Code>
  static TQ_FORCE_INLINE __m512i widened(const Code* p) noexcept {
    const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return std::is_signed_v<Code> ? _mm512_cvtepi8_epi32(b) : _mm512_cvtepu8_epi32(b);
  }
  // Fewer instructions, as each of the first ones has codes of all registers: unpacking works
  // inside 128 bits, so these have four codes of every register first.
  template <class Code>
  static TQ_FORCE_INLINE void four(const Code* p, const Code* q, numbers (&out)[4]) noexcept {
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15),
                  a = _mm512_permutexvar_epi32(order, _mm512_loadu_si512(p)),
                  b = _mm512_permutexvar_epi32(order, _mm512_loadu_si512(q)),
                  low = _mm512_unpacklo_epi8(a, b), high = _mm512_unpackhi_epi8(a, b);
    widen<std::is_signed_v<Code>>(low, out[0], out[1]);
    widen<std::is_signed_v<Code>>(high, out[2], out[3]);
  }
  template <bool Signed>
  static TQ_FORCE_INLINE void widen(__m512i bytes, numbers& low, numbers& high) noexcept {
    const __m512i zero = _mm512_setzero_si512();
    if constexpr (Signed) {
      low = _mm512_srai_epi16(_mm512_unpacklo_epi8(zero, bytes), 8);
      high = _mm512_srai_epi16(_mm512_unpackhi_epi8(zero, bytes), 8);
    } else {
      low = _mm512_unpacklo_epi8(bytes, zero);
      high = _mm512_unpackhi_epi8(bytes, zero);
    }
  }
};
#endif

#if TQ_HAS_SIMD && defined(__aarch64__)
template <>
struct tap_dot<xsimd::neon64> : detail::taps_by_register<xsimd::neon64> {
  using detail::taps_by_register<xsimd::neon64>::beside;
  static TQ_FORCE_INLINE numbers pairs(const std::int16_t* p) noexcept { return vld1q_s16(p); }
  template <class Code>
  static TQ_FORCE_INLINE numbers beside(const Code* p, const Code* q) noexcept {
    const uint8x8_t b = vzip1_u8(vreinterpret_u8_s32(vdup_n_s32(bits_at<xsimd::neon64>(p))),
                                 vreinterpret_u8_s32(vdup_n_s32(bits_at<xsimd::neon64>(q))));
    return std::is_signed_v<Code> ? vmovl_s8(vreinterpret_s8_u8(b))
                                  : vreinterpretq_s16_u16(vmovl_u8(b));
  }
};
#endif

}  // namespace tq::arch

// SPDX-License-Identifier: MIT
#pragma once
// lanes<sse2> and lanes<sse4_2>: 128-bit registers. Included by lanes.hpp, which describes the
// members.

#include <tq/arch/batch.hpp>

#if TQ_HAS_SIMD && defined(__SSE2__)

#include <emmintrin.h>  // not <immintrin.h>: it takes as long to compile as all of xsimd
#include <cstdint>
#include <cstring>
#if defined(__SSE4_2__)
#include <nmmintrin.h>
#endif

namespace tq::arch {

template <>
struct lanes<xsimd::sse2> {
  using A = xsimd::sse2;
  using words = __m128i;
  using bytes = __m128i;
  static constexpr bool has_fma = false;
  static constexpr bool conversion_saturates = false;
  static constexpr std::size_t W = 4;

  static TQ_FORCE_INLINE words pack16(__m128i a, __m128i b) noexcept {
    return _mm_packs_epi32(a, b);
  }
  static TQ_FORCE_INLINE words add16(words a, words b) noexcept { return _mm_adds_epi16(a, b); }
  static TQ_FORCE_INLINE words splat16(std::int32_t v) noexcept {
    return _mm_set1_epi16(static_cast<short>(v));
  }
  static TQ_FORCE_INLINE words min16(words p, words q) noexcept { return _mm_min_epi16(p, q); }
  static TQ_FORCE_INLINE bool lowest16(words p, words q, words low) noexcept {
    return _mm_movemask_epi8(_mm_or_si128(_mm_cmpeq_epi16(p, low), _mm_cmpeq_epi16(q, low))) != 0;
  }
  static TQ_FORCE_INLINE bool lowest8(bytes p, bytes q, bytes low) noexcept {
    return _mm_movemask_epi8(_mm_or_si128(_mm_cmpeq_epi8(p, low), _mm_cmpeq_epi8(q, low))) != 0;
  }
  template <bool Signed>
  static TQ_FORCE_INLINE bytes narrow8(words p, words q) noexcept {
    if constexpr (Signed) return _mm_packs_epi16(p, q);
    else return _mm_packus_epi16(p, q);
  }
  static TQ_FORCE_INLINE bytes order8(bytes b) noexcept { return b; }
  template <bool Signed>
  static TQ_FORCE_INLINE bytes pack8(words p, words q) noexcept {
    return narrow8<Signed>(p, q);
  }
  static TQ_FORCE_INLINE bytes splat8(std::int32_t v) noexcept {
    return _mm_set1_epi8(static_cast<char>(v));
  }
  // SSE2 compares bytes only as unsigned: flip the sign bit on the way in and out.
  template <bool Signed>
  static TQ_FORCE_INLINE bytes clamp8(bytes b, bytes lo, bytes hi) noexcept {
    if constexpr (Signed) {
      const __m128i flip = _mm_set1_epi8(-128);
      const __m128i l = _mm_xor_si128(lo, flip), h = _mm_xor_si128(hi, flip);
      return _mm_xor_si128(_mm_min_epu8(_mm_max_epu8(_mm_xor_si128(b, flip), l), h), flip);
    } else {
      return _mm_min_epu8(_mm_max_epu8(b, lo), hi);
    }
  }
  static TQ_FORCE_INLINE bytes load8(const void* p) noexcept {
    return _mm_loadu_si128(static_cast<const __m128i*>(p));
  }
  static TQ_FORCE_INLINE void store8(void* p, bytes b) noexcept {
    _mm_storeu_si128(static_cast<__m128i*>(p), b);
  }
  static TQ_FORCE_INLINE void stream8(void* p, bytes b) noexcept {
    _mm_stream_si128(static_cast<__m128i*>(p), b);
  }
  // Neighbouring nibbles of each 16-bit lane meet in its low byte.
  static TQ_FORCE_INLINE void store4(void* p, bytes b) noexcept {
    const __m128i m = _mm_and_si128(b, _mm_set1_epi8(15));
    const __m128i w = _mm_and_si128(_mm_or_si128(m, _mm_srli_epi16(m, 4)), _mm_set1_epi16(255));
    _mm_storel_epi64(static_cast<__m128i*>(p), _mm_packus_epi16(w, w));
  }
  static TQ_FORCE_INLINE bytes pack4x2(bytes b, bytes c) noexcept {
    const __m128i mask = _mm_set1_epi8(15), low = _mm_set1_epi16(255);
    const __m128i m = _mm_and_si128(b, mask), n = _mm_and_si128(c, mask);
    const __m128i v = _mm_and_si128(_mm_or_si128(m, _mm_srli_epi16(m, 4)), low);
    const __m128i w = _mm_and_si128(_mm_or_si128(n, _mm_srli_epi16(n, 4)), low);
    return _mm_packus_epi16(v, w);
  }
  static TQ_FORCE_INLINE void store2(void* p, bytes b) noexcept {
    const __m128i m = _mm_and_si128(b, _mm_set1_epi8(3));
    const __m128i n = _mm_or_si128(m, _mm_srli_epi16(m, 6));  // two codes in bits 0-3 of each word
    const __m128i d =
        _mm_or_si128(n, _mm_srli_epi32(n, 12));  // four codes in bits 0-7 of each dword
    const __m128i v = _mm_and_si128(d, _mm_set1_epi32(255));
    const __m128i w = _mm_packs_epi32(v, v);
    const int four = _mm_cvtsi128_si32(_mm_packus_epi16(w, w));
    std::memcpy(p, &four, 4);
  }
  static TQ_FORCE_INLINE bytes load4(const void* p) noexcept {
    const __m128i v = _mm_loadl_epi64(static_cast<const __m128i*>(p));
    const __m128i mask = _mm_set1_epi8(15);
    return _mm_unpacklo_epi8(_mm_and_si128(v, mask), _mm_and_si128(_mm_srli_epi16(v, 4), mask));
  }
  static TQ_FORCE_INLINE bytes load2(const void* p) noexcept {
    const __m128i v = _mm_cvtsi32_si128(bits_at<A>(p)), mask = _mm_set1_epi8(3);
    const __m128i even =
        _mm_unpacklo_epi8(_mm_and_si128(v, mask), _mm_and_si128(_mm_srli_epi16(v, 2), mask));
    const __m128i odd = _mm_unpacklo_epi8(_mm_and_si128(_mm_srli_epi16(v, 4), mask),
                                          _mm_and_si128(_mm_srli_epi16(v, 6), mask));
    return _mm_unpacklo_epi16(even, odd);
  }
  template <bool Signed>
  static TQ_FORCE_INLINE void widen8(const void* p, ints<A> (&out)[4]) noexcept {
    const __m128i v = load8(p), zero = _mm_setzero_si128();
    const __m128i s8 = Signed ? _mm_cmpgt_epi8(zero, v) : zero;
    const __m128i l = _mm_unpacklo_epi8(v, s8), h = _mm_unpackhi_epi8(v, s8);
    const __m128i sl = Signed ? _mm_cmpgt_epi16(zero, l) : zero,
                  sh = Signed ? _mm_cmpgt_epi16(zero, h) : zero;
    out[0] = ints<A>(_mm_unpacklo_epi16(l, sl));
    out[1] = ints<A>(_mm_unpackhi_epi16(l, sl));
    out[2] = ints<A>(_mm_unpacklo_epi16(h, sh));
    out[3] = ints<A>(_mm_unpackhi_epi16(h, sh));
  }
  template <bool Signed>
  static TQ_FORCE_INLINE void narrow16(const ints<A> (&v)[4], bytes (&out)[2]) noexcept {
    TQ_UNROLL for (int h = 0; h < 2; ++h) {
      const __m128i a = v[2 * h], b = v[2 * h + 1];
      if constexpr (Signed) {
        out[h] = _mm_packs_epi32(a, b);
      } else {  // no unsigned pack before SSE4.1: shift the range down and back up
        const __m128i k = _mm_set1_epi32(32768);
        const __m128i w = _mm_packs_epi32(_mm_sub_epi32(a, k), _mm_sub_epi32(b, k));
        out[h] = _mm_xor_si128(w, _mm_set1_epi16(-32768));
      }
    }
  }
  template <bool Signed>
  static TQ_FORCE_INLINE void widen16(const void* p, ints<A> (&out)[4]) noexcept {
    const __m128i zero = _mm_setzero_si128();
    TQ_UNROLL for (int h = 0; h < 2; ++h) {
      const __m128i v = _mm_loadu_si128(static_cast<const __m128i*>(p) + h);
      const __m128i s = Signed ? _mm_cmpgt_epi16(zero, v) : zero;
      out[2 * h] = ints<A>(_mm_unpacklo_epi16(v, s));
      out[2 * h + 1] = ints<A>(_mm_unpackhi_epi16(v, s));
    }
  }
  static constexpr bool has_half = false;
  static constexpr bool has_bfloat16 = false;
  static constexpr bool has_widen_packed = false;
  static TQ_FORCE_INLINE void stream(float* p, __m128 v) noexcept { _mm_stream_ps(p, v); }
  static TQ_FORCE_INLINE void fence() noexcept { _mm_sfence(); }
  static TQ_FORCE_INLINE float lowest(__m128 v) noexcept {
    v = _mm_min_ps(v, _mm_movehl_ps(v, v));
    return _mm_cvtss_f32(_mm_min_ss(v, _mm_shuffle_ps(v, v, 1)));
  }
  static TQ_FORCE_INLINE float highest(__m128 v) noexcept {
    v = _mm_max_ps(v, _mm_movehl_ps(v, v));
    return _mm_cvtss_f32(_mm_max_ss(v, _mm_shuffle_ps(v, v, 1)));
  }
  static TQ_FORCE_INLINE void lowest4(float* p, __m128 a, __m128 b, __m128 c, __m128 d) noexcept {
    p[0] = lowest(a);
    p[1] = lowest(b);
    p[2] = lowest(c);
    p[3] = lowest(d);
  }
  static TQ_FORCE_INLINE void highest4(float* p, __m128 a, __m128 b, __m128 c, __m128 d) noexcept {
    p[0] = highest(a);
    p[1] = highest(b);
    p[2] = highest(c);
    p[3] = highest(d);
  }
  static TQ_FORCE_INLINE __m128 magnitude(__m128 v, __m128 limit) noexcept {
    return _mm_min_ps(_mm_andnot_ps(_mm_set1_ps(-0.0f), v), limit);
  }
  static TQ_FORCE_INLINE __m128i merge(__m128i mask, __m128i p, __m128i q) noexcept {
    return _mm_or_si128(_mm_and_si128(mask, p), _mm_andnot_si128(mask, q));
  }
  static TQ_FORCE_INLINE bool any_nan(__m128 a, __m128 b, __m128 c, __m128 d) noexcept {
    return _mm_movemask_ps(_mm_or_ps(_mm_cmpunord_ps(a, b), _mm_cmpunord_ps(c, d))) != 0;
  }
};

#if defined(__SSE4_2__)
template <>
struct lanes<xsimd::sse4_2> : lanes<xsimd::sse2> {
  using A = xsimd::sse4_2;
  template <bool Signed>
  static TQ_FORCE_INLINE bytes clamp8(bytes b, bytes lo, bytes hi) noexcept {
    if constexpr (Signed) return _mm_min_epi8(_mm_max_epi8(b, lo), hi);
    else return _mm_min_epu8(_mm_max_epu8(b, lo), hi);
  }
  template <bool Signed>
  static TQ_FORCE_INLINE void widen8(const void* p, ints<A> (&out)[4]) noexcept {
    const __m128i v = load8(p);
    const __m128i part[4] = {v, _mm_srli_si128(v, 4), _mm_srli_si128(v, 8), _mm_srli_si128(v, 12)};
    TQ_UNROLL for (int k = 0; k < 4; ++k) out[k] =
        ints<A>(Signed ? _mm_cvtepi8_epi32(part[k]) : _mm_cvtepu8_epi32(part[k]));
  }
  template <bool Signed>
  static TQ_FORCE_INLINE void narrow16(const ints<A> (&v)[4], bytes (&out)[2]) noexcept {
    TQ_UNROLL for (int h = 0; h < 2; ++h) {
      const __m128i a = v[2 * h], b = v[2 * h + 1];
      out[h] = Signed ? _mm_packs_epi32(a, b) : _mm_packus_epi32(a, b);
    }
  }
  template <bool Signed>
  static TQ_FORCE_INLINE void widen16(const void* p, ints<A> (&out)[4]) noexcept {
    TQ_UNROLL for (int h = 0; h < 2; ++h) {
      const __m128i v = _mm_loadu_si128(static_cast<const __m128i*>(p) + h),
                    u = _mm_srli_si128(v, 8);
      out[2 * h] = ints<A>(Signed ? _mm_cvtepi16_epi32(v) : _mm_cvtepu16_epi32(v));
      out[2 * h + 1] = ints<A>(Signed ? _mm_cvtepi16_epi32(u) : _mm_cvtepu16_epi32(u));
    }
  }
};
#endif

}  // namespace tq::arch

#endif

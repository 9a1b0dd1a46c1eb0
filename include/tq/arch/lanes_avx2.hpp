// SPDX-License-Identifier: MIT
#pragma once
// lanes<avx2> and lanes<fma3<avx2>>: 256-bit registers. Included by lanes.hpp, which describes the
// members.

#include <tq/arch/batch.hpp>
#include <tq/arch/lanes_sse.hpp>

#if TQ_HAS_SIMD && defined(__AVX2__)

#include <immintrin.h>
#include <cstdint>

namespace tq::arch {
namespace detail {

template <class Arch>
struct lanes_avx2 {
  using A = Arch;
  using words = __m256i;
  using bytes = __m256i;
  static constexpr bool conversion_saturates = false;
  static constexpr std::size_t W = 8;

  static TQ_FORCE_INLINE words pack16(__m256i a, __m256i b) noexcept {
    return _mm256_packs_epi32(a, b);
  }
  static TQ_FORCE_INLINE words add16(words a, words b) noexcept { return _mm256_adds_epi16(a, b); }
  static TQ_FORCE_INLINE words splat16(std::int32_t v) noexcept {
    return _mm256_set1_epi16(static_cast<short>(v));
  }
  static TQ_FORCE_INLINE words min16(words p, words q) noexcept { return _mm256_min_epi16(p, q); }
  static TQ_FORCE_INLINE bool lowest16(words p, words q, words low) noexcept {
    const __m256i hit = _mm256_or_si256(_mm256_cmpeq_epi16(p, low), _mm256_cmpeq_epi16(q, low));
    return _mm256_movemask_epi8(hit) != 0;
  }
  static TQ_FORCE_INLINE bool lowest8(bytes p, bytes q, bytes low) noexcept {
    return _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epi8(p, q), low)) != 0;
  }
  template <bool Signed>
  static TQ_FORCE_INLINE bytes narrow8(words p, words q) noexcept {
    return Signed ? _mm256_packs_epi16(p, q) : _mm256_packus_epi16(p, q);
  }
  // Packs work inside 128-bit lanes: put the dwords back in order.
  static TQ_FORCE_INLINE bytes order8(bytes b) noexcept {
    return _mm256_permutevar8x32_epi32(b, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
  }
  template <bool Signed>
  static TQ_FORCE_INLINE bytes pack8(words p, words q) noexcept {
    return order8(narrow8<Signed>(p, q));
  }
  static TQ_FORCE_INLINE bytes splat8(std::int32_t v) noexcept {
    return _mm256_set1_epi8(static_cast<char>(v));
  }
  template <bool Signed>
  static TQ_FORCE_INLINE bytes clamp8(bytes b, bytes lo, bytes hi) noexcept {
    if constexpr (Signed) return _mm256_min_epi8(_mm256_max_epi8(b, lo), hi);
    else return _mm256_min_epu8(_mm256_max_epu8(b, lo), hi);
  }
  static TQ_FORCE_INLINE bytes load8(const void* p) noexcept {
    return _mm256_loadu_si256(static_cast<const __m256i*>(p));
  }
  static TQ_FORCE_INLINE bool any8(bytes b, std::int32_t mask, std::int32_t value) noexcept {
    return _mm256_movemask_epi8(
               _mm256_cmpeq_epi8(_mm256_and_si256(b, splat8(mask)), splat8(value))) != 0;
  }
  static TQ_FORCE_INLINE void store8(void* p, bytes b) noexcept {
    _mm256_storeu_si256(static_cast<__m256i*>(p), b);
  }
  static TQ_FORCE_INLINE void stream8(void* p, bytes b) noexcept {
    if (is_aligned(p, sizeof(b))) {
      _mm256_stream_si256(static_cast<__m256i*>(p), b);
    } else {
      _mm_stream_si128(static_cast<__m128i*>(p), _mm256_castsi256_si128(b));
      _mm_stream_si128(static_cast<__m128i*>(p) + 1, _mm256_extracti128_si256(b, 1));
    }
  }
  static TQ_FORCE_INLINE void store4(void* p, bytes b) noexcept {
    // low + 16 * high in each 16-bit lane
    const __m256i w =
        _mm256_maddubs_epi16(_mm256_and_si256(b, _mm256_set1_epi8(15)), _mm256_set1_epi16(0x1001));
    const __m256i n = _mm256_permute4x64_epi64(_mm256_packus_epi16(w, w), 0x08);
    _mm_storeu_si128(static_cast<__m128i*>(p), _mm256_castsi256_si128(n));
  }
  static TQ_FORCE_INLINE bytes pack4x2(bytes b, bytes c) noexcept {
    const __m256i mask = _mm256_set1_epi8(15), weights = _mm256_set1_epi16(0x1001);
    const __m256i v = _mm256_maddubs_epi16(_mm256_and_si256(b, mask), weights);
    const __m256i w = _mm256_maddubs_epi16(_mm256_and_si256(c, mask), weights);
    // A 128-bit lane holds a word, four codes, of each batch.
    const __m256i order = _mm256_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15,  //
                                           0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15);
    return _mm256_shuffle_epi8(_mm256_permute4x64_epi64(_mm256_packus_epi16(v, w), 0xd8), order);
  }
  static TQ_FORCE_INLINE void store2(void* p, bytes b) noexcept {
    const __m256i w = _mm256_maddubs_epi16(_mm256_and_si256(b, _mm256_set1_epi8(3)),
                                           _mm256_set1_epi16(0x0401));      // two codes a word
    const __m256i d = _mm256_madd_epi16(w, _mm256_set1_epi32(0x00100001));  // four codes a dword
    const __m256i v = _mm256_packus_epi16(_mm256_packs_epi32(d, d), d);
    const __m256i n = _mm256_permutevar8x32_epi32(v, _mm256_setr_epi32(0, 4, 0, 0, 0, 0, 0, 0));
    _mm_storel_epi64(static_cast<__m128i*>(p), _mm256_castsi256_si128(n));
  }
  static TQ_FORCE_INLINE bytes load4(const void* p) noexcept {
    const __m256i v = _mm256_cvtepu8_epi16(_mm_loadu_si128(static_cast<const __m128i*>(p)));
    return _mm256_and_si256(_mm256_or_si256(v, _mm256_slli_epi16(v, 4)), _mm256_set1_epi8(15));
  }
  static TQ_FORCE_INLINE bytes load2(const void* p) noexcept {
    const __m256i v = _mm256_cvtepu8_epi32(_mm_loadl_epi64(static_cast<const __m128i*>(p)));
    const __m256i d =
        _mm256_or_si256(v, _mm256_slli_epi32(v, 12));  // codes 0-1 in word 0, 2-3 in word 1
    return _mm256_and_si256(_mm256_or_si256(d, _mm256_slli_epi32(d, 6)), _mm256_set1_epi8(3));
  }
  template <bool Signed>
  static TQ_FORCE_INLINE void widen8(const void* p, ints<A> (&out)[4]) noexcept {
    TQ_UNROLL for (int k = 0; k < 4; ++k) {
      const __m128i v =
          _mm_loadl_epi64(reinterpret_cast<const __m128i*>(static_cast<const char*>(p) + 8 * k));
      out[k] = ints<A>(Signed ? _mm256_cvtepi8_epi32(v) : _mm256_cvtepu8_epi32(v));
    }
  }
  static constexpr bool has_widen_packed = true;
  template <int Bits, bool Signed, bool Clean = true>
  static TQ_FORCE_INLINE void widen_packed(const void* p, ints<A> (&out)[4]) noexcept {
    static_assert((Bits == 4 || Bits == 2) && (Clean || !Signed));
    TQ_UNROLL for (int k = 0; k < 4; ++k) {
      const int first = k * 8 * Bits;  // bit of the batch's first code
      const __m256i v = _mm256_set1_epi32(bits_at<A>(static_cast<const char*>(p) + first / 32 * 4));
      const __m256i bit = _mm256_add_epi32(
          _mm256_set1_epi32(first % 32),
          _mm256_setr_epi32(0, Bits, 2 * Bits, 3 * Bits, 4 * Bits, 5 * Bits, 6 * Bits, 7 * Bits));
      if constexpr (Clean) {  // to the top, and down again
        const __m256i top =
            _mm256_sllv_epi32(v, _mm256_sub_epi32(_mm256_set1_epi32(32 - Bits), bit));
        out[k] =
            ints<A>(Signed ? _mm256_srai_epi32(top, 32 - Bits) : _mm256_srli_epi32(top, 32 - Bits));
      } else {
        out[k] = ints<A>(_mm256_srlv_epi32(v, bit));
      }
    }
  }
  template <bool Signed>
  static TQ_FORCE_INLINE void narrow16(const ints<A> (&v)[4], bytes (&out)[2]) noexcept {
    TQ_UNROLL for (int h = 0; h < 2; ++h) {
      const __m256i a = v[2 * h], b = v[2 * h + 1];
      const __m256i w = Signed ? _mm256_packs_epi32(a, b) : _mm256_packus_epi32(a, b);
      out[h] = _mm256_permute4x64_epi64(w, 0xd8);
    }
  }
  template <bool Signed>
  static TQ_FORCE_INLINE void widen16(const void* p, ints<A> (&out)[4]) noexcept {
    TQ_UNROLL for (int k = 0; k < 4; ++k) {
      const __m128i v = _mm_loadu_si128(static_cast<const __m128i*>(p) + k);
      out[k] = ints<A>(Signed ? _mm256_cvtepi16_epi32(v) : _mm256_cvtepu16_epi32(v));
    }
  }
#if defined(__F16C__)
  static constexpr bool has_half = true;
  template <bool Stream>
  static TQ_FORCE_INLINE void store_half(void* p, const floats<A> (&v)[4]) noexcept {
    TQ_UNROLL for (int k = 0; k < 4; ++k) {
      const __m128i h = _mm256_cvtps_ph(v[k], _MM_FROUND_TO_NEAREST_INT);
      if constexpr (Stream) _mm_stream_si128(static_cast<__m128i*>(p) + k, h);
      else _mm_storeu_si128(static_cast<__m128i*>(p) + k, h);
    }
  }
  static TQ_FORCE_INLINE void load_half(const void* p, floats<A> (&v)[4]) noexcept {
    TQ_UNROLL for (int k = 0; k < 4; ++k) v[k] =
        floats<A>(_mm256_cvtph_ps(_mm_loadu_si128(static_cast<const __m128i*>(p) + k)));
  }
  template <int Shift, int Mask>
  static TQ_FORCE_INLINE void widen_half(const void* p, floats<A> (&v)[4]) noexcept {
    TQ_UNROLL for (int k = 0; k < 4; k += 2) {
      __m256i w = _mm256_cvtepi8_epi16(_mm_loadu_si128(static_cast<const __m128i*>(p) + k / 2));
      w = _mm256_and_si256(_mm256_slli_epi16(w, Shift),
                           _mm256_set1_epi16(static_cast<short>(Mask)));
      v[k] = floats<A>(_mm256_cvtph_ps(_mm256_castsi256_si128(w)));
      v[k + 1] = floats<A>(_mm256_cvtph_ps(_mm256_extracti128_si256(w, 1)));
    }
  }
#else
  static constexpr bool has_half = false;
#endif
  static constexpr bool has_bfloat16 = false;
  static TQ_FORCE_INLINE void stream(float* p, __m256 v) noexcept {
    stream8(p, _mm256_castps_si256(v));
  }
  static TQ_FORCE_INLINE void fence() noexcept { _mm_sfence(); }
  static TQ_FORCE_INLINE float lowest(__m256 v) noexcept {
    return lanes<xsimd::sse2>::lowest(
        _mm_min_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1)));
  }
  static TQ_FORCE_INLINE float highest(__m256 v) noexcept {
    return lanes<xsimd::sse2>::highest(
        _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1)));
  }
  static TQ_FORCE_INLINE void lowest4(float* p, __m256 a, __m256 b, __m256 c, __m256 d) noexcept {
    p[0] = lowest(a);
    p[1] = lowest(b);
    p[2] = lowest(c);
    p[3] = lowest(d);
  }
  static TQ_FORCE_INLINE void highest4(float* p, __m256 a, __m256 b, __m256 c, __m256 d) noexcept {
    p[0] = highest(a);
    p[1] = highest(b);
    p[2] = highest(c);
    p[3] = highest(d);
  }
  static TQ_FORCE_INLINE __m256 magnitude(__m256 v, __m256 limit) noexcept {
    return _mm256_min_ps(_mm256_andnot_ps(_mm256_set1_ps(-0.0f), v), limit);
  }
  static TQ_FORCE_INLINE __m256i merge(__m256i mask, __m256i p, __m256i q) noexcept {
    return _mm256_or_si256(_mm256_and_si256(mask, p), _mm256_andnot_si256(mask, q));
  }
  static TQ_FORCE_INLINE bool any_nan(__m256 a, __m256 b, __m256 c, __m256 d) noexcept {
    return _mm256_movemask_ps(_mm256_or_ps(_mm256_cmp_ps(a, b, _CMP_UNORD_Q),
                                           _mm256_cmp_ps(c, d, _CMP_UNORD_Q))) != 0;
  }
};

}  // namespace detail

template <>
struct lanes<xsimd::avx2> : detail::lanes_avx2<xsimd::avx2> {
  static constexpr bool has_fma = false;
};

#if defined(__FMA__)
template <>
struct lanes<xsimd::fma3<xsimd::avx2>> : detail::lanes_avx2<xsimd::fma3<xsimd::avx2>> {
  static constexpr bool has_fma = true;
  static TQ_FORCE_INLINE floats<A> fma(__m256 a, __m256 b, __m256 c) noexcept {
    return floats<A>(_mm256_fmadd_ps(a, b, c));
  }
  static TQ_FORCE_INLINE floats<A> fnma(__m256 a, __m256 b, __m256 c) noexcept {
    return floats<A>(_mm256_fnmadd_ps(a, b, c));
  }
};
#endif

}  // namespace tq::arch

#endif

// SPDX-License-Identifier: MIT
#pragma once
// lanes<avx512bw>: 512-bit registers. Included by lanes.hpp, which describes the members.

#include <tq/arch/batch.hpp>

#if TQ_HAS_SIMD && defined(__AVX512BW__)

#include <immintrin.h>
#include <array>
#include <cstdint>

namespace tq::arch {

namespace detail {
// Where narrow8 of 512 bits leaves codes `first`, first + 2, ... of two blocks.
consteval std::array<std::uint8_t, 64> every_other_narrowed(unsigned first) noexcept {
  std::array<std::uint8_t, 64> at{};
  for (unsigned k = 0; k < 64; ++k) {
    const unsigned code = 2 * k + first, batch = code % 64 / 16, of_batch = code % 16;
    at[k] =
        static_cast<std::uint8_t>(code / 64 * 64 + of_batch / 4 * 16 + batch * 4 + of_batch % 4);
  }
  return at;
}
}  // namespace detail

template <>
struct lanes<xsimd::avx512bw> {
  using A = xsimd::avx512bw;
  using words = __m512i;
  using bytes = __m512i;
  static constexpr bool has_fma = true;
  static constexpr bool conversion_saturates = false;
  static constexpr std::size_t W = 16;

  static TQ_FORCE_INLINE floats<A> fma(__m512 a, __m512 b, __m512 c) noexcept {
    return floats<A>(_mm512_fmadd_ps(a, b, c));
  }
  static TQ_FORCE_INLINE floats<A> fnma(__m512 a, __m512 b, __m512 c) noexcept {
    return floats<A>(_mm512_fnmadd_ps(a, b, c));
  }
  // Written out, as for several uses g++ would make one broadcast apart, which takes a slot of its
  // own; as part of a multiplication it takes none.
  static TQ_FORCE_INLINE floats<A> multiply_by(__m512 x, const float* y) noexcept {
#if defined(__GNUC__)
    __m512 product;
    asm("{vmulps %2%{1to16%}, %1, %0|vmulps %0, %1, %2%{1to16%}}"
        : "=v"(product)
        : "v"(x), "m"(*y));
    return floats<A>(product);
#else
    return floats<A>(_mm512_mul_ps(x, _mm512_set1_ps(*y)));
#endif
  }
  static TQ_FORCE_INLINE floats<A> fma_by(__m512 x, const float* y, __m512 z) noexcept {
#if defined(__GNUC__)
    asm("{vfmadd231ps %2%{1to16%}, %1, %0|vfmadd231ps %0, %1, %2%{1to16%}}"
        : "+v"(z)
        : "v"(x), "m"(*y));
    return floats<A>(z);
#else
    return fma(x, _mm512_set1_ps(*y), z);
#endif
  }
  static TQ_FORCE_INLINE words pack16(__m512i a, __m512i b) noexcept {
    return _mm512_packs_epi32(a, b);
  }
  static TQ_FORCE_INLINE words add16(words a, words b) noexcept { return _mm512_adds_epi16(a, b); }
  static TQ_FORCE_INLINE words splat16(std::int32_t v) noexcept {
    return _mm512_set1_epi16(static_cast<short>(v));
  }
  static TQ_FORCE_INLINE words min16(words p, words q) noexcept { return _mm512_min_epi16(p, q); }
  static TQ_FORCE_INLINE bytes min8(bytes p, bytes q) noexcept { return _mm512_min_epi8(p, q); }
  static TQ_FORCE_INLINE bool lowest16(words p, words q, words low) noexcept {
    const __mmask32 found = _mm512_cmpeq_epi16_mask(_mm512_min_epi16(p, q), low);
    return _kortestz_mask32_u8(found, found) == 0;
  }
  static TQ_FORCE_INLINE bool lowest8(bytes p, bytes q, bytes low) noexcept {
    const __mmask64 found = _mm512_cmpeq_epi8_mask(min8(p, q), low);
    return _kortestz_mask64_u8(found, found) == 0;
  }
  template <bool Signed>
  static TQ_FORCE_INLINE bytes narrow8(words p, words q) noexcept {
    return Signed ? _mm512_packs_epi16(p, q) : _mm512_packus_epi16(p, q);
  }
  // Packs work inside 128-bit lanes: put the dwords back in order.
  static TQ_FORCE_INLINE bytes order8(bytes b) noexcept {
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    return _mm512_permutexvar_epi32(order, b);
  }
  template <bool Signed>
  static TQ_FORCE_INLINE bytes pack8(words p, words q) noexcept {
    return order8(narrow8<Signed>(p, q));
  }
  static TQ_FORCE_INLINE bytes splat8(std::int32_t v) noexcept {
    return _mm512_set1_epi8(static_cast<char>(v));
  }
  template <bool Signed>
  static TQ_FORCE_INLINE bytes clamp8(bytes b, bytes lo, bytes hi) noexcept {
    if constexpr (Signed) return _mm512_min_epi8(_mm512_max_epi8(b, lo), hi);
    else return _mm512_min_epu8(_mm512_max_epu8(b, lo), hi);
  }
  static TQ_FORCE_INLINE bytes load8(const void* p) noexcept { return _mm512_loadu_si512(p); }
  static TQ_FORCE_INLINE void store8(void* p, bytes b) noexcept { _mm512_storeu_si512(p, b); }
  static TQ_FORCE_INLINE bytes load_some(const void* p, std::size_t n) noexcept {
    return _mm512_maskz_loadu_epi8(~std::uint64_t{0} >> (64 - n), p);
  }
  static TQ_FORCE_INLINE bool any8(bytes b, std::int32_t mask, std::int32_t value) noexcept {
    const __mmask64 found =
        _mm512_cmpeq_epi8_mask(_mm512_and_si512(b, splat8(mask)), splat8(value));
    return _kortestz_mask64_u8(found, found) == 0;
  }
  static TQ_FORCE_INLINE void stream8(void* p, bytes b) noexcept {
    if (is_aligned(p, sizeof(b))) {
      _mm512_stream_si512(static_cast<__m512i*>(p), b);
    } else {
      stream_half_register(p, _mm512_castsi512_si256(b));
      stream_half_register(static_cast<__m256i*>(p) + 1, _mm512_extracti64x4_epi64(b, 1));
    }
  }
  static TQ_FORCE_INLINE void store4(void* p, bytes b) noexcept {
    // low + 16 * high in each 16-bit lane
    const __m512i w =
        _mm512_maddubs_epi16(_mm512_and_si512(b, _mm512_set1_epi8(15)), _mm512_set1_epi16(0x1001));
    _mm256_storeu_si256(static_cast<__m256i*>(p), _mm512_cvtepi16_epi8(w));
  }
  // A 128-bit lane holds four codes of each batch.
#if defined(__AVX512VBMI__)
  static TQ_FORCE_INLINE bytes pack4x2(bytes b, bytes c) noexcept {
    alignas(64) static constexpr auto even = detail::every_other_narrowed(0),
                                      odd = detail::every_other_narrowed(1);
    const __m512i lower = _mm512_permutex2var_epi8(b, _mm512_load_si512(even.data()), c);
    const __m512i upper = _mm512_permutex2var_epi8(b, _mm512_load_si512(odd.data()), c);
    return merge(kept(_mm512_set1_epi8(15)), lower, _mm512_slli_epi16(upper, 4));
  }
#else
  static TQ_FORCE_INLINE bytes pack4x2(bytes b, bytes c) noexcept {
    const __m512i mask = kept(_mm512_set1_epi8(15)), weights = _mm512_set1_epi16(0x1001);
    const __m512i v = _mm512_maddubs_epi16(_mm512_and_si512(b, mask), weights);
    const __m512i w = _mm512_maddubs_epi16(_mm512_and_si512(c, mask), weights);
    const __m512i order =
        _mm512_set_epi16(31, 23, 15, 7, 30, 22, 14, 6, 29, 21, 13, 5, 28, 20, 12, 4,  //
                         27, 19, 11, 3, 26, 18, 10, 2, 25, 17, 9, 1, 24, 16, 8, 0);
    return _mm512_permutexvar_epi16(order, _mm512_packus_epi16(v, w));
  }
#endif
  static TQ_FORCE_INLINE void store2(void* p, bytes b) noexcept {
    const __m512i w = _mm512_maddubs_epi16(_mm512_and_si512(b, _mm512_set1_epi8(3)),
                                           _mm512_set1_epi16(0x0401));      // two codes a word
    const __m512i d = _mm512_madd_epi16(w, _mm512_set1_epi32(0x00100001));  // four codes a dword
    _mm_storeu_si128(static_cast<__m128i*>(p), _mm512_cvtepi32_epi8(d));
  }
  static TQ_FORCE_INLINE bytes load4(const void* p) noexcept {
    const __m512i v = _mm512_cvtepu8_epi16(_mm256_loadu_si256(static_cast<const __m256i*>(p)));
    return _mm512_and_si512(_mm512_or_si512(v, _mm512_slli_epi16(v, 4)), _mm512_set1_epi8(15));
  }
  static TQ_FORCE_INLINE bytes load2(const void* p) noexcept {
    const __m512i v = _mm512_cvtepu8_epi32(_mm_loadu_si128(static_cast<const __m128i*>(p)));
    const __m512i d =
        _mm512_or_si512(v, _mm512_slli_epi32(v, 12));  // codes 0-1 in word 0, 2-3 in word 1
    return _mm512_and_si512(_mm512_or_si512(d, _mm512_slli_epi32(d, 6)), _mm512_set1_epi8(3));
  }
  template <bool Signed>
  static TQ_FORCE_INLINE void widen8(const void* p, ints<A> (&out)[4]) noexcept {
    TQ_UNROLL for (int k = 0; k < 4; ++k) {
      const __m128i v = _mm_loadu_si128(static_cast<const __m128i*>(p) + k);
      out[k] = ints<A>(Signed ? _mm512_cvtepi8_epi32(v) : _mm512_cvtepu8_epi32(v));
    }
  }
  static constexpr bool has_widen_packed = true;
  template <int Bits, bool Signed, bool Clean = true>
  static TQ_FORCE_INLINE void widen_packed(const void* p, ints<A> (&out)[4]) noexcept {
    static_assert((Bits == 4 || Bits == 2) && (Clean || !Signed));
    __m512i dwords, dword, bit;  // where each code is
    if constexpr (Bits == 4) {
      dwords = _mm512_castsi256_si512(_mm256_loadu_si256(static_cast<const __m256i*>(p)));
      dword = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
      bit = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28);
    } else {
      dwords = _mm512_castsi128_si512(_mm_loadu_si128(static_cast<const __m128i*>(p)));
      dword = _mm512_setzero_si512();
      bit = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    }
    TQ_UNROLL for (int k = 0; k < 4; ++k) {
      const __m512i of_batch = _mm512_add_epi32(dword, _mm512_set1_epi32(Bits / 2 * k));
      const __m512i v = _mm512_permutexvar_epi32(of_batch, dwords);
      if constexpr (Clean) {  // to the top, and down again
        const __m512i top =
            _mm512_sllv_epi32(v, _mm512_sub_epi32(_mm512_set1_epi32(32 - Bits), bit));
        out[k] =
            ints<A>(Signed ? _mm512_srai_epi32(top, 32 - Bits) : _mm512_srli_epi32(top, 32 - Bits));
      } else {
        out[k] = ints<A>(_mm512_srlv_epi32(v, bit));
      }
    }
  }
  template <bool Signed>
  static TQ_FORCE_INLINE void narrow16(const ints<A> (&v)[4], bytes (&out)[2]) noexcept {
    const __m512i order =
        _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);  // packs work inside 128-bit lanes
    TQ_UNROLL for (int k = 0; k < 4; k += 2) {
      const __m512i w =
          Signed ? _mm512_packs_epi32(v[k], v[k + 1]) : _mm512_packus_epi32(v[k], v[k + 1]);
      out[k / 2] = _mm512_permutexvar_epi64(order, w);
    }
  }
  template <bool Signed>
  static TQ_FORCE_INLINE void widen16(const void* p, ints<A> (&out)[4]) noexcept {
    TQ_UNROLL for (int k = 0; k < 4; ++k) {
      const __m256i v = _mm256_loadu_si256(static_cast<const __m256i*>(p) + k);
      out[k] = ints<A>(Signed ? _mm512_cvtepi16_epi32(v) : _mm512_cvtepu16_epi32(v));
    }
  }
  static constexpr bool has_half = true;
  template <bool Stream>
  static TQ_FORCE_INLINE void store_half(void* p, const floats<A> (&v)[4]) noexcept {
    TQ_UNROLL for (int k = 0; k < 4; ++k) {
      const __m256i h = _mm512_cvtps_ph(v[k], _MM_FROUND_TO_NEAREST_INT);
      if constexpr (Stream) stream_half_register(static_cast<__m256i*>(p) + k, h);
      else _mm256_storeu_si256(static_cast<__m256i*>(p) + k, h);
    }
  }
  static TQ_FORCE_INLINE void load_half(const void* p, floats<A> (&v)[4]) noexcept {
    TQ_UNROLL for (int k = 0; k < 4; ++k) v[k] =
        floats<A>(_mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i*>(p) + k)));
  }
  template <int Shift, int Mask>
  static TQ_FORCE_INLINE void widen_half(const void* p, floats<A> (&v)[4]) noexcept {
    [[maybe_unused]] const __m512i mask = kept(_mm512_set1_epi16(static_cast<short>(Mask)));
    TQ_UNROLL for (int k = 0; k < 4; k += 2) {
      __m512i w = _mm512_cvtepi8_epi16(_mm256_loadu_si256(static_cast<const __m256i*>(p) + k / 2));
      w = _mm512_slli_epi16(w, Shift);
      if constexpr (Mask != -1) w = _mm512_and_si512(w, mask);
      v[k] = floats<A>(_mm512_cvtph_ps(_mm512_castsi512_si256(w)));
      v[k + 1] = floats<A>(_mm512_cvtph_ps(_mm512_extracti64x4_epi64(w, 1)));
    }
  }
#if defined(__AVX512BF16__)
  static constexpr bool has_bfloat16 = true;
  static TQ_FORCE_INLINE bool to_bfloat16(const floats<A> (&v)[4], bytes (&out)[2]) noexcept {
    const auto a = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(v[1], v[0]));
    const auto b = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(v[3], v[2]));
    // Without masks, as the processor looks ahead only as far as it has registers for them.
    const auto any_above = [](__m512i x, __m512i y, int limit, __m512i other) TQ_LAMBDA_INLINE {
      const __m512i found = _mm512_or_si512(
          _mm512_subs_epu16(_mm512_max_epu16(x, y), _mm512_set1_epi16(static_cast<short>(limit))),
          other);
      const __m256i half =
          _mm256_or_si256(_mm512_castsi512_si256(found), _mm512_extracti64x4_epi64(found, 1));
      return _mm256_testz_si256(half, half) == 0;
    };
    const __m512i a2 = _mm512_add_epi16(a, a),
                  b2 = _mm512_add_epi16(b, b);  // twice the magnitudes: infinity is 0xff00
    const __m512i two = _mm512_set1_epi16(2);
    // Subnormal values become 0, so a closer look where there are zeros.
    if (any_above(_mm512_sub_epi16(a2, two), _mm512_sub_epi16(b2, two), 0xfefd,
                  _mm512_setzero_si512())) {
      const __m512i subnormal =
          _mm512_set1_epi32(0xffffff);  // above twice the last one; 0 - 1 is not below
      __m512i least = subnormal;
      TQ_UNROLL for (const floats<A>& f : v) {
        const __m512i bits = _mm512_castps_si512(f);
        least = _mm512_min_epu32(
            least, _mm512_sub_epi32(_mm512_add_epi32(bits, bits), _mm512_set1_epi32(1)));
      }
      if (any_above(a2, b2, 0xfeff, _mm512_sub_epi32(subnormal, least))) return false;
    }
    out[0] = a;
    out[1] = b;
    return true;
  }
#else
  static constexpr bool has_bfloat16 = false;
#endif
  static TQ_FORCE_INLINE void stream(float* p, __m512 v) noexcept {
    stream8(p, _mm512_castps_si512(v));
  }
  static TQ_FORCE_INLINE void fence() noexcept { _mm_sfence(); }
  static TQ_FORCE_INLINE float lowest(__m512 v) noexcept { return _mm512_reduce_min_ps(v); }
  static TQ_FORCE_INLINE float highest(__m512 v) noexcept { return _mm512_reduce_max_ps(v); }
  // The highest, or else the lowest, lane of each of four.
  template <bool Highest>
  static TQ_FORCE_INLINE __m128 of_each(__m512 a, __m512 b, __m512 c, __m512 d) noexcept {
    const auto two = [](auto u, auto v) TQ_LAMBDA_INLINE {
      if constexpr (sizeof(u) == 64) return Highest ? _mm512_max_ps(u, v) : _mm512_min_ps(u, v);
      else if constexpr (sizeof(u) == 32)
        return Highest ? _mm256_max_ps(u, v) : _mm256_min_ps(u, v);
      else return Highest ? _mm_max_ps(u, v) : _mm_min_ps(u, v);
    };
    const auto pairs = [&](__m512 u, __m512 v) TQ_LAMBDA_INLINE {
      return _mm512_castps_pd(two(_mm512_unpacklo_ps(u, v), _mm512_unpackhi_ps(u, v)));
    };
    const __m512d ab = pairs(a, b), cd = pairs(c, d);
    const __m512 all = two(_mm512_castpd_ps(_mm512_unpacklo_pd(ab, cd)),
                           _mm512_castpd_ps(_mm512_unpackhi_pd(ab, cd)));
    const __m256 half = two(_mm512_castps512_ps256(all), _mm512_extractf32x8_ps(all, 1));
    return two(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
  }
  static TQ_FORCE_INLINE void lowest4(float* p, __m512 a, __m512 b, __m512 c, __m512 d) noexcept {
    _mm_storeu_ps(p, of_each<false>(a, b, c, d));
  }
  static TQ_FORCE_INLINE void highest4(float* p, __m512 a, __m512 b, __m512 c, __m512 d) noexcept {
    _mm_storeu_ps(p, of_each<true>(a, b, c, d));
  }
#if defined(__GNUC__) && !defined(__clang__)  // a macro where g++ does not optimise
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
#endif
  static TQ_FORCE_INLINE __m512 magnitude(__m512 v, __m512 limit) noexcept {
    return _mm512_range_ps(v, limit, 0b1010);  // the smaller magnitude, without a sign
  }
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
  static TQ_FORCE_INLINE __m512i merge(__m512i mask, __m512i p, __m512i q) noexcept {
    return _mm512_ternarylogic_epi32(mask, p, q, 0xca);
  }
  static TQ_FORCE_INLINE bool any_nan(__m512 a, __m512 b, __m512 c, __m512 d) noexcept {
    return _kortestz_mask16_u8(_mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q),
                               _mm512_cmp_ps_mask(c, d, _CMP_UNORD_Q)) == 0;
  }

 private:
  static TQ_FORCE_INLINE void stream_half_register(void* p, __m256i v) noexcept {
    if (is_aligned(p, sizeof(v))) {
      _mm256_stream_si256(static_cast<__m256i*>(p), v);
    } else {
      _mm_stream_si128(static_cast<__m128i*>(p), _mm256_castsi256_si128(v));
      _mm_stream_si128(static_cast<__m128i*>(p) + 1, _mm256_extracti128_si256(v, 1));
    }
  }
};

}  // namespace tq::arch

#endif

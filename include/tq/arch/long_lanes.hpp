// SPDX-License-Identifier: MIT
#pragma once
// long_lanes<Arch>: 32-bit lanes as 64-bit ones and back, and what fixed-point products need of
// these. Instruction sets without shifts by a number a lane have none (`exists`).
//
// Members (W = width of 32-bit lanes; a `longs` has W / 2 lanes of 64 bits):
//
//   low(v), high(v)        the first and the last W / 2 of W integers, with their sign
//   load(p)                W / 2 pairs of 32 bits as 64-bit lanes, the first of a pair in the low half
//   all(i)                 a 64-bit integer in all lanes
//   multiply(a, b)         signed products of the low halves
//   upper(v), lower(v)     the high halves and the low ones, without a sign
//   add(a, b)              a + b modulo 2^64
//   subtract(a, b)         a - b modulo 2^64
//   left(v, n)             v shifted by n in [0, 63]
//   right(v, n)            v shifted by n in [0, 63], with its sign
//   saturate(v)            v clamped to 32 bits
//   join(low, high)        the low halves of both, as W integers
//
// long_scalar has the same arithmetic for one integer of 64 bits.

#include <tq/arch/batch.hpp>
#include <tq/config.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>

#if TQ_HAS_SIMD && defined(__AVX2__)
#include <immintrin.h>
#endif

namespace tq::arch {

template <class Arch>
struct long_lanes {
  static constexpr bool exists = false;
};

/// One integer of 64 bits, for formulas that are written once for registers and numbers. Sums,
/// differences and shifts may not leave 64 bits.
struct long_scalar {
  using longs = std::int64_t;

  static constexpr longs all(std::int64_t i) noexcept { return i; }
  static constexpr longs multiply(longs a, longs b) noexcept {
    return longs{static_cast<std::int32_t>(a)} * static_cast<std::int32_t>(b);
  }
  static constexpr longs lower(longs v) noexcept { return v & 0xffffffff; }
  static constexpr longs add(longs a, longs b) noexcept { return a + b; }
  static constexpr longs subtract(longs a, longs b) noexcept { return a - b; }
  static constexpr longs left(longs v, longs n) noexcept { return v << n; }
  static constexpr longs right(longs v, longs n) noexcept { return v >> n; }
  static constexpr longs saturate(longs v) noexcept {
    constexpr longs least = std::numeric_limits<std::int32_t>::min(),
                    most = std::numeric_limits<std::int32_t>::max();
    return v < least ? least : v > most ? most : v;
  }
};

#if TQ_HAS_SIMD && defined(__AVX2__)
namespace detail {
template <class Arch>
struct long_lanes256 {
  static constexpr bool exists = true;
  using longs = __m256i;
  using integers = ints<Arch>;

  static TQ_FORCE_INLINE longs low(const integers& v) noexcept {
    return _mm256_cvtepi32_epi64(_mm256_castsi256_si128(v));
  }
  static TQ_FORCE_INLINE longs high(const integers& v) noexcept {
    return _mm256_cvtepi32_epi64(_mm256_extracti128_si256(v, 1));
  }
  static TQ_FORCE_INLINE longs load(const void* p) noexcept {
    return _mm256_loadu_si256(static_cast<const __m256i*>(p));
  }
  static TQ_FORCE_INLINE longs all(std::int64_t i) noexcept { return _mm256_set1_epi64x(i); }
  static TQ_FORCE_INLINE longs multiply(longs a, longs b) noexcept {
    return _mm256_mul_epi32(a, b);
  }
  static TQ_FORCE_INLINE longs upper(longs v) noexcept { return _mm256_srli_epi64(v, 32); }
  static TQ_FORCE_INLINE longs lower(longs v) noexcept {
    return _mm256_and_si256(v, all(0xffffffff));
  }
  static TQ_FORCE_INLINE longs add(longs a, longs b) noexcept { return _mm256_add_epi64(a, b); }
  static TQ_FORCE_INLINE longs subtract(longs a, longs b) noexcept {
    return _mm256_sub_epi64(a, b);
  }
  static TQ_FORCE_INLINE longs left(longs v, longs n) noexcept { return _mm256_sllv_epi64(v, n); }
  static TQ_FORCE_INLINE longs right(longs v, longs n) noexcept {
    // v + 2^63 has no sign.
    const longs top = all(std::numeric_limits<std::int64_t>::min());
    return _mm256_sub_epi64(_mm256_srlv_epi64(_mm256_xor_si256(v, top), n),
                            _mm256_srlv_epi64(top, n));
  }
  static TQ_FORCE_INLINE longs saturate(longs v) noexcept {
    const longs most = all(std::numeric_limits<std::int32_t>::max()),
                least = all(std::numeric_limits<std::int32_t>::min());
    v = _mm256_blendv_epi8(v, most, _mm256_cmpgt_epi64(v, most));
    return _mm256_blendv_epi8(v, least, _mm256_cmpgt_epi64(least, v));
  }
  static TQ_FORCE_INLINE integers join(longs low, longs high) noexcept {
    const __m256 halves =
        _mm256_shuffle_ps(_mm256_castsi256_ps(low), _mm256_castsi256_ps(high), 0x88);
    return integers(_mm256_permute4x64_epi64(_mm256_castps_si256(halves), 0xd8));
  }
};
}  // namespace detail

template <>
struct long_lanes<xsimd::avx2> : detail::long_lanes256<xsimd::avx2> {};
#if defined(__FMA__)
template <>
struct long_lanes<xsimd::fma3<xsimd::avx2>> : detail::long_lanes256<xsimd::fma3<xsimd::avx2>> {};
#endif

#if defined(__AVX512BW__)
template <>
struct long_lanes<xsimd::avx512bw> {
  static constexpr bool exists = true;
  using longs = __m512i;
  using integers = ints<xsimd::avx512bw>;

  static TQ_FORCE_INLINE longs low(const integers& v) noexcept {
    return _mm512_cvtepi32_epi64(_mm512_castsi512_si256(v));
  }
  static TQ_FORCE_INLINE longs high(const integers& v) noexcept {
    return _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(v, 1));
  }
  static TQ_FORCE_INLINE longs load(const void* p) noexcept { return _mm512_loadu_si512(p); }
  static TQ_FORCE_INLINE longs all(std::int64_t i) noexcept { return _mm512_set1_epi64(i); }
  static TQ_FORCE_INLINE longs multiply(longs a, longs b) noexcept {
    return _mm512_mul_epi32(a, b);
  }
  static TQ_FORCE_INLINE longs upper(longs v) noexcept { return _mm512_srli_epi64(v, 32); }
  static TQ_FORCE_INLINE longs lower(longs v) noexcept {
    return _mm512_and_si512(v, all(0xffffffff));
  }
  static TQ_FORCE_INLINE longs add(longs a, longs b) noexcept { return _mm512_add_epi64(a, b); }
  static TQ_FORCE_INLINE longs subtract(longs a, longs b) noexcept {
    return _mm512_sub_epi64(a, b);
  }
  static TQ_FORCE_INLINE longs left(longs v, longs n) noexcept { return _mm512_sllv_epi64(v, n); }
  static TQ_FORCE_INLINE longs right(longs v, longs n) noexcept { return _mm512_srav_epi64(v, n); }
  static TQ_FORCE_INLINE longs saturate(longs v) noexcept {
    v = _mm512_min_epi64(v, all(std::numeric_limits<std::int32_t>::max()));
    return _mm512_max_epi64(v, all(std::numeric_limits<std::int32_t>::min()));
  }
  static TQ_FORCE_INLINE integers join(longs low, longs high) noexcept {
    return integers(_mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi64_epi32(low)),
                                       _mm512_cvtepi64_epi32(high), 1));
  }
};
#endif
#endif

}  // namespace tq::arch

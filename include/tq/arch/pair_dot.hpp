// SPDX-License-Identifier: MIT
#pragma once
// pair_dot<Arch>: sums of products of 16-bit numbers, two by two, in lanes of 32 bits. Products of
// 9-bit numbers never saturate, which those of vpmaddubsw do.
//
// It is a dot, and so is byte_dot. Members (W = width, lanes of 32 bits; D = depth):
//   number           what rows consist of
//   depth, columns   numbers that a lane multiplies at once, and columns of a panel of weights
//   rows             rows of a register tile of `columns` that registers have room for
//   sums, numbers    registers of W sums, and of W times D numbers
//   zero()           sums of nothing
//   load(p)          W * D weights of 8 bits from memory
//   load_numbers(p)  W * D numbers from memory (pair_dot only)
//   splat(p)         the D numbers at p, in all lanes
//   add(s, a, b)     s + a[0] * b[0] + ... + a[D - 1] * b[D - 1] in each lane, modulo 2^32
//   plus(s, t)       s + t in each lane, modulo 2^32
//   read(p)          W sums from memory
//   store(p, s)      W sums to memory

#include <tq/arch/batch.hpp>
#include <tq/arch/scalar.hpp>

#include <cstddef>
#include <cstdint>

#if TQ_HAS_SIMD && defined(__SSE2__)
#include <immintrin.h>
#endif
#if TQ_HAS_SIMD && defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace tq::arch {

template <class Arch>
struct pair_dot;

namespace detail {
struct pair_dot_shape {
  using number = std::int16_t;
  static constexpr std::size_t depth = 2;
  static constexpr std::size_t columns = 16;
};
}  // namespace detail

template <>
struct pair_dot<scalar> : detail::pair_dot_shape {
  static constexpr std::size_t width = 1;
  static constexpr std::size_t rows = 1;
  using sums = std::int32_t;
  struct numbers {
    std::int32_t first, second;
  };
  static sums zero() noexcept { return 0; }
  static numbers load(const std::int8_t* p) noexcept { return {p[0], p[1]}; }
  static numbers load_numbers(const std::int16_t* p) noexcept { return {p[0], p[1]}; }
  static numbers splat(const std::int16_t* p) noexcept { return {p[0], p[1]}; }
  static sums add(sums s, numbers a, numbers b) noexcept {
    const auto bits = [](std::int32_t v) { return static_cast<std::uint32_t>(v); };
    return static_cast<sums>(bits(s) + bits(a.first * b.first) + bits(a.second * b.second));
  }
  static sums plus(sums s, sums t) noexcept {
    return static_cast<sums>(static_cast<std::uint32_t>(s) + static_cast<std::uint32_t>(t));
  }
  static sums read(const std::int32_t* p) noexcept { return *p; }
  static void store(std::int32_t* p, sums s) noexcept { *p = s; }
};

#if TQ_HAS_SIMD && defined(__SSE2__)
template <>
struct pair_dot<xsimd::sse2> : detail::pair_dot_shape {
  static constexpr std::size_t width = 4;
  static constexpr std::size_t rows = 2;
  using sums = __m128i;
  using numbers = __m128i;
  static TQ_FORCE_INLINE sums zero() noexcept { return _mm_setzero_si128(); }
  static TQ_FORCE_INLINE numbers load(const std::int8_t* p) noexcept {
    const __m128i b = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
    return _mm_srai_epi16(_mm_unpacklo_epi8(b, b), 8);
  }
  static TQ_FORCE_INLINE numbers load_numbers(const std::int16_t* p) noexcept {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  }
  static TQ_FORCE_INLINE numbers splat(const std::int16_t* p) noexcept {
    return _mm_set1_epi32(bits_at<xsimd::sse2>(p));
  }
  static TQ_FORCE_INLINE sums add(sums s, numbers a, numbers b) noexcept {
    return _mm_add_epi32(s, _mm_madd_epi16(a, b));
  }
  static TQ_FORCE_INLINE sums plus(sums s, sums t) noexcept { return _mm_add_epi32(s, t); }
  static TQ_FORCE_INLINE sums read(const std::int32_t* p) noexcept {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  }
  static TQ_FORCE_INLINE void store(std::int32_t* p, sums s) noexcept {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), s);
  }
};
#endif

#if TQ_HAS_SIMD && defined(__SSE4_2__)
template <>
struct pair_dot<xsimd::sse4_2> : pair_dot<xsimd::sse2> {
  static TQ_FORCE_INLINE numbers load(const std::int8_t* p) noexcept {
    return _mm_cvtepi8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
  }
};
#endif

#if TQ_HAS_SIMD && defined(__AVX2__)
template <>
struct pair_dot<xsimd::avx2> : detail::pair_dot_shape {
  static constexpr std::size_t width = 8;
  static constexpr std::size_t rows = 6;
  using sums = __m256i;
  using numbers = __m256i;
  static TQ_FORCE_INLINE sums zero() noexcept { return _mm256_setzero_si256(); }
  static TQ_FORCE_INLINE numbers load(const std::int8_t* p) noexcept {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static TQ_FORCE_INLINE numbers load_numbers(const std::int16_t* p) noexcept {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static TQ_FORCE_INLINE numbers splat(const std::int16_t* p) noexcept {
    return _mm256_set1_epi32(bits_at<xsimd::avx2>(p));
  }
  static TQ_FORCE_INLINE sums add(sums s, numbers a, numbers b) noexcept {
    return _mm256_add_epi32(s, _mm256_madd_epi16(a, b));
  }
  static TQ_FORCE_INLINE sums plus(sums s, sums t) noexcept { return _mm256_add_epi32(s, t); }
  static TQ_FORCE_INLINE sums read(const std::int32_t* p) noexcept {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static TQ_FORCE_INLINE void store(std::int32_t* p, sums s) noexcept {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), s);
  }
};
#if defined(__FMA__)
template <>
struct pair_dot<xsimd::fma3<xsimd::avx2>> : pair_dot<xsimd::avx2> {};
#endif
#endif

#if TQ_HAS_SIMD && defined(__AVX512BW__)
template <>
struct pair_dot<xsimd::avx512bw> : detail::pair_dot_shape {
  static constexpr std::size_t width = 16;
  static constexpr std::size_t rows = 12;
  using sums = __m512i;
  using numbers = __m512i;
  static TQ_FORCE_INLINE sums zero() noexcept { return _mm512_setzero_si512(); }
  static TQ_FORCE_INLINE numbers load(const std::int8_t* p) noexcept {
    return _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static TQ_FORCE_INLINE numbers load_numbers(const std::int16_t* p) noexcept {
    return _mm512_loadu_si512(p);
  }
  static TQ_FORCE_INLINE numbers splat(const std::int16_t* p) noexcept {
    return _mm512_set1_epi32(bits_at<xsimd::avx512bw>(p));
  }
  static TQ_FORCE_INLINE sums add(sums s, numbers a, numbers b) noexcept {
    return _mm512_add_epi32(s, _mm512_madd_epi16(a, b));
  }
  static TQ_FORCE_INLINE sums plus(sums s, sums t) noexcept { return _mm512_add_epi32(s, t); }
  static TQ_FORCE_INLINE sums read(const std::int32_t* p) noexcept { return _mm512_loadu_si512(p); }
  static TQ_FORCE_INLINE void store(std::int32_t* p, sums s) noexcept { _mm512_storeu_si512(p, s); }
};
#endif

#if TQ_HAS_SIMD && defined(__aarch64__)
template <>
struct pair_dot<xsimd::neon64> : detail::pair_dot_shape {
  static constexpr std::size_t width = 4;
  static constexpr std::size_t rows = 4;
  using sums = int32x4_t;
  using numbers = int16x8_t;
  static TQ_FORCE_INLINE sums zero() noexcept { return vdupq_n_s32(0); }
  static TQ_FORCE_INLINE numbers load(const std::int8_t* p) noexcept {
    return vmovl_s8(vld1_s8(p));
  }
  static TQ_FORCE_INLINE numbers load_numbers(const std::int16_t* p) noexcept {
    return vld1q_s16(p);
  }
  static TQ_FORCE_INLINE numbers splat(const std::int16_t* p) noexcept {
    return vreinterpretq_s16_s32(vdupq_n_s32(bits_at<xsimd::neon64>(p)));
  }
  static TQ_FORCE_INLINE sums add(sums s, numbers a, numbers b) noexcept {
    return vaddq_s32(s,
                     vpaddq_s32(vmull_s16(vget_low_s16(a), vget_low_s16(b)), vmull_high_s16(a, b)));
  }
  static TQ_FORCE_INLINE sums plus(sums s, sums t) noexcept { return vaddq_s32(s, t); }
  static TQ_FORCE_INLINE sums read(const std::int32_t* p) noexcept { return vld1q_s32(p); }
  static TQ_FORCE_INLINE void store(std::int32_t* p, sums s) noexcept { vst1q_s32(p, s); }
};
#endif

}  // namespace tq::arch

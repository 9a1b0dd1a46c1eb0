// SPDX-License-Identifier: MIT
#pragma once
// word_lanes<Arch>: arithmetic of 16-bit integers, in the registers of numbers that pair_dot has.
//
// Members beside those of pair_dot:
//   store_numbers(p, v)      2 * width numbers to memory
//   fill(v)                  v in every lane of 16 bits
//   twice(s)                 the low 16 bits of every lane of 32 bits, in both of its halves
//   high, high_unsigned      a * b >> 16
//   rounded(a, b)            (a * b + 2^14) >> 15, a and b above -32768
//   low(a, b)                a * b modulo 2^16
//   add(a, b)                a + b modulo 2^16
//   add_unsigned(a, b)       a + b, at most 65535
//   subtract_unsigned(a, b)  a - b, at least 0
//   right<N>, right_unsigned<N>   a >> N, with the sign or with zeros
//   smaller, larger          of signed numbers
//   where_greater(a, b, v)   v where a > b (signed), else 0

#include <tq/arch/pair_dot.hpp>

#include <algorithm>
#include <cstdint>

namespace tq::arch {

template <class Arch>
struct word_lanes;

template <>
struct word_lanes<scalar> : pair_dot<scalar> {
  using pair_dot<scalar>::add;
  static void store_numbers(std::int16_t* p, numbers v) noexcept {
    p[0] = wrapped(v.first), p[1] = wrapped(v.second);
  }
  static numbers fill(std::int32_t v) noexcept { return {wrapped(v), wrapped(v)}; }
  static numbers twice(sums s) noexcept { return fill(s); }
  static numbers high(numbers a, numbers b) noexcept {
    return of(a, b, [](std::int32_t x, std::int32_t y) { return x * y >> 16; });
  }
  static numbers high_unsigned(numbers a, numbers b) noexcept {
    return of(a, b, [](std::int32_t x, std::int32_t y) {
      return static_cast<std::int32_t>(bits(x) * bits(y) >> 16);
    });
  }
  static numbers rounded(numbers a, numbers b) noexcept {
    return of(a, b, [](std::int32_t x, std::int32_t y) { return (x * y + (1 << 14)) >> 15; });
  }
  static numbers low(numbers a, numbers b) noexcept {
    return of(a, b, [](std::int32_t x, std::int32_t y) { return x * y; });
  }
  static numbers add(numbers a, numbers b) noexcept {
    return of(a, b, [](std::int32_t x, std::int32_t y) { return x + y; });
  }
  static numbers add_unsigned(numbers a, numbers b) noexcept {
    return of(a, b, [](std::int32_t x, std::int32_t y) {
      return static_cast<std::int32_t>(std::min(bits(x) + bits(y), 65535u));
    });
  }
  static numbers subtract_unsigned(numbers a, numbers b) noexcept {
    return of(a, b, [](std::int32_t x, std::int32_t y) {
      return static_cast<std::int32_t>(bits(x) - std::min(bits(x), bits(y)));
    });
  }
  template <int N>
  static numbers right(numbers a) noexcept {
    return {a.first >> N, a.second >> N};
  }
  template <int N>
  static numbers right_unsigned(numbers a) noexcept {
    return of(a, a,
              [](std::int32_t x, std::int32_t) { return static_cast<std::int32_t>(bits(x) >> N); });
  }
  static numbers smaller(numbers a, numbers b) noexcept {
    return {std::min(a.first, b.first), std::min(a.second, b.second)};
  }
  static numbers larger(numbers a, numbers b) noexcept {
    return {std::max(a.first, b.first), std::max(a.second, b.second)};
  }
  static numbers where_greater(numbers a, numbers b, numbers v) noexcept {
    return {a.first > b.first ? v.first : 0, a.second > b.second ? v.second : 0};
  }

 private:
  static std::uint32_t bits(std::int32_t v) noexcept {
    return static_cast<std::uint32_t>(v) & 0xffffu;
  }
  static std::int16_t wrapped(std::int32_t v) noexcept {
    return static_cast<std::int16_t>(static_cast<std::uint16_t>(bits(v)));
  }
  template <class F>
  static numbers of(numbers a, numbers b, F f) noexcept {
    return {wrapped(f(a.first, b.first)), wrapped(f(a.second, b.second))};
  }
};

#if TQ_HAS_SIMD && defined(__SSE2__)
template <>
struct word_lanes<xsimd::sse2> : pair_dot<xsimd::sse2> {
  using pair_dot<xsimd::sse2>::add;
  static TQ_FORCE_INLINE void store_numbers(std::int16_t* p, numbers v) noexcept {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), v);
  }
  static TQ_FORCE_INLINE numbers fill(std::int32_t v) noexcept {
    return _mm_set1_epi16(static_cast<short>(v));
  }
  static TQ_FORCE_INLINE numbers twice(sums s) noexcept {
    return _mm_or_si128(_mm_and_si128(s, _mm_set1_epi32(0xffff)), _mm_slli_epi32(s, 16));
  }
  static TQ_FORCE_INLINE numbers high(numbers a, numbers b) noexcept {
    return _mm_mulhi_epi16(a, b);
  }
  static TQ_FORCE_INLINE numbers high_unsigned(numbers a, numbers b) noexcept {
    return _mm_mulhi_epu16(a, b);
  }
  static TQ_FORCE_INLINE numbers rounded(numbers a, numbers b) noexcept {
    const __m128i h = _mm_mulhi_epi16(a, b), l = _mm_mullo_epi16(a, b);
    const __m128i floor = _mm_or_si128(_mm_slli_epi16(h, 1), _mm_srli_epi16(l, 15));
    return _mm_add_epi16(floor, _mm_and_si128(_mm_srli_epi16(l, 14), _mm_set1_epi16(1)));
  }
  static TQ_FORCE_INLINE numbers low(numbers a, numbers b) noexcept {
    return _mm_mullo_epi16(a, b);
  }
  static TQ_FORCE_INLINE numbers add(numbers a, numbers b) noexcept { return _mm_add_epi16(a, b); }
  static TQ_FORCE_INLINE numbers add_unsigned(numbers a, numbers b) noexcept {
    return _mm_adds_epu16(a, b);
  }
  static TQ_FORCE_INLINE numbers subtract_unsigned(numbers a, numbers b) noexcept {
    return _mm_subs_epu16(a, b);
  }
  template <int N>
  static TQ_FORCE_INLINE numbers right(numbers a) noexcept {
    return _mm_srai_epi16(a, N);
  }
  template <int N>
  static TQ_FORCE_INLINE numbers right_unsigned(numbers a) noexcept {
    return _mm_srli_epi16(a, N);
  }
  static TQ_FORCE_INLINE numbers smaller(numbers a, numbers b) noexcept {
    return _mm_min_epi16(a, b);
  }
  static TQ_FORCE_INLINE numbers larger(numbers a, numbers b) noexcept {
    return _mm_max_epi16(a, b);
  }
  static TQ_FORCE_INLINE numbers where_greater(numbers a, numbers b, numbers v) noexcept {
    return _mm_and_si128(_mm_cmpgt_epi16(a, b), v);
  }
};
#endif

#if TQ_HAS_SIMD && defined(__SSE4_2__)
template <>
struct word_lanes<xsimd::sse4_2> : word_lanes<xsimd::sse2> {};
#endif

#if TQ_HAS_SIMD && defined(__AVX2__)
template <>
struct word_lanes<xsimd::avx2> : pair_dot<xsimd::avx2> {
  using pair_dot<xsimd::avx2>::add;
  static TQ_FORCE_INLINE void store_numbers(std::int16_t* p, numbers v) noexcept {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v);
  }
  static TQ_FORCE_INLINE numbers fill(std::int32_t v) noexcept {
    return _mm256_set1_epi16(static_cast<short>(v));
  }
  static TQ_FORCE_INLINE numbers twice(sums s) noexcept {
    return _mm256_or_si256(_mm256_and_si256(s, _mm256_set1_epi32(0xffff)),
                           _mm256_slli_epi32(s, 16));
  }
  static TQ_FORCE_INLINE numbers high(numbers a, numbers b) noexcept {
    return _mm256_mulhi_epi16(a, b);
  }
  static TQ_FORCE_INLINE numbers high_unsigned(numbers a, numbers b) noexcept {
    return _mm256_mulhi_epu16(a, b);
  }
  static TQ_FORCE_INLINE numbers rounded(numbers a, numbers b) noexcept {
    return _mm256_mulhrs_epi16(a, b);
  }
  static TQ_FORCE_INLINE numbers low(numbers a, numbers b) noexcept {
    return _mm256_mullo_epi16(a, b);
  }
  static TQ_FORCE_INLINE numbers add(numbers a, numbers b) noexcept {
    return _mm256_add_epi16(a, b);
  }
  static TQ_FORCE_INLINE numbers add_unsigned(numbers a, numbers b) noexcept {
    return _mm256_adds_epu16(a, b);
  }
  static TQ_FORCE_INLINE numbers subtract_unsigned(numbers a, numbers b) noexcept {
    return _mm256_subs_epu16(a, b);
  }
  template <int N>
  static TQ_FORCE_INLINE numbers right(numbers a) noexcept {
    return _mm256_srai_epi16(a, N);
  }
  template <int N>
  static TQ_FORCE_INLINE numbers right_unsigned(numbers a) noexcept {
    return _mm256_srli_epi16(a, N);
  }
  static TQ_FORCE_INLINE numbers smaller(numbers a, numbers b) noexcept {
    return _mm256_min_epi16(a, b);
  }
  static TQ_FORCE_INLINE numbers larger(numbers a, numbers b) noexcept {
    return _mm256_max_epi16(a, b);
  }
  static TQ_FORCE_INLINE numbers where_greater(numbers a, numbers b, numbers v) noexcept {
    return _mm256_and_si256(_mm256_cmpgt_epi16(a, b), v);
  }
};
#if defined(__FMA__)
template <>
struct word_lanes<xsimd::fma3<xsimd::avx2>> : word_lanes<xsimd::avx2> {};
#endif
#endif

#if TQ_HAS_SIMD && defined(__aarch64__)
template <>
struct word_lanes<xsimd::neon64> : pair_dot<xsimd::neon64> {
  using pair_dot<xsimd::neon64>::add;
  static TQ_FORCE_INLINE void store_numbers(std::int16_t* p, numbers v) noexcept {
    vst1q_s16(p, v);
  }
  static TQ_FORCE_INLINE numbers fill(std::int32_t v) noexcept {
    return vdupq_n_s16(static_cast<std::int16_t>(v));
  }
  static TQ_FORCE_INLINE numbers twice(sums s) noexcept {
    const int16x8_t v = vreinterpretq_s16_s32(s);
    return vtrn1q_s16(v, v);
  }
  static TQ_FORCE_INLINE numbers high(numbers a, numbers b) noexcept {
    return vuzp2q_s16(vreinterpretq_s16_s32(vmull_s16(vget_low_s16(a), vget_low_s16(b))),
                      vreinterpretq_s16_s32(vmull_high_s16(a, b)));
  }
  static TQ_FORCE_INLINE numbers high_unsigned(numbers a, numbers b) noexcept {
    const uint16x8_t x = vreinterpretq_u16_s16(a), y = vreinterpretq_u16_s16(b);
    return vuzp2q_s16(vreinterpretq_s16_u32(vmull_u16(vget_low_u16(x), vget_low_u16(y))),
                      vreinterpretq_s16_u32(vmull_high_u16(x, y)));
  }
  static TQ_FORCE_INLINE numbers rounded(numbers a, numbers b) noexcept {
    return vqrdmulhq_s16(a, b);
  }
  static TQ_FORCE_INLINE numbers low(numbers a, numbers b) noexcept { return vmulq_s16(a, b); }
  static TQ_FORCE_INLINE numbers add(numbers a, numbers b) noexcept { return vaddq_s16(a, b); }
  static TQ_FORCE_INLINE numbers add_unsigned(numbers a, numbers b) noexcept {
    return vreinterpretq_s16_u16(vqaddq_u16(vreinterpretq_u16_s16(a), vreinterpretq_u16_s16(b)));
  }
  static TQ_FORCE_INLINE numbers subtract_unsigned(numbers a, numbers b) noexcept {
    return vreinterpretq_s16_u16(vqsubq_u16(vreinterpretq_u16_s16(a), vreinterpretq_u16_s16(b)));
  }
  template <int N>
  static TQ_FORCE_INLINE numbers right(numbers a) noexcept {
    return vshrq_n_s16(a, N);
  }
  template <int N>
  static TQ_FORCE_INLINE numbers right_unsigned(numbers a) noexcept {
    return vreinterpretq_s16_u16(vshrq_n_u16(vreinterpretq_u16_s16(a), N));
  }
  static TQ_FORCE_INLINE numbers smaller(numbers a, numbers b) noexcept { return vminq_s16(a, b); }
  static TQ_FORCE_INLINE numbers larger(numbers a, numbers b) noexcept { return vmaxq_s16(a, b); }
  static TQ_FORCE_INLINE numbers where_greater(numbers a, numbers b, numbers v) noexcept {
    return vreinterpretq_s16_u16(vandq_u16(vcgtq_s16(a, b), vreinterpretq_u16_s16(v)));
  }
};
#endif

}  // namespace tq::arch

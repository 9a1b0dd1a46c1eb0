// SPDX-License-Identifier: MIT
#pragma once
// group_dot<sse2> and group_dot<sse4_2>: 128-bit registers. Included by group_dot.hpp, which
// describes the members.

#include <tq/arch/group_dot_base.hpp>

#if TQ_HAS_SIMD && defined(__SSE2__)

#include <emmintrin.h>
#if defined(__SSE4_2__)
#include <nmmintrin.h>
#endif

#include <cstddef>
#include <cstdint>

namespace tq::arch {

template <>
struct group_dot<xsimd::sse2> : detail::group_batches<xsimd::sse2> {
  using base = detail::group_batches<xsimd::sse2>;
  static constexpr std::size_t registers = 2, rows = 2, float_rows = 2;
  static constexpr std::size_t reach = 255 * 8;
  using levels = __m128i;
  using tables = __m128i;
  using parts = sums;
  struct quads {
    __m128i even, odd;
  };

  static TQ_FORCE_INLINE levels load(const std::uint8_t* p) noexcept {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  }
  static TQ_FORCE_INLINE void store(std::uint8_t* p, levels v) noexcept {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), v);
  }
  template <int Shift, int Mask>
  static TQ_FORCE_INLINE levels field(levels v) noexcept {
    return _mm_and_si128(_mm_srli_epi16(v, Shift), _mm_set1_epi8(Mask));
  }
  template <int Shift>
  static TQ_FORCE_INLINE levels join(levels a, levels b) noexcept {
    return _mm_or_si128(a, _mm_slli_epi16(b, Shift));
  }
  static TQ_FORCE_INLINE tables table(const std::uint8_t* p) noexcept { return load(p); }
  static TQ_FORCE_INLINE levels lookup(tables t, levels v) noexcept {
    alignas(16) std::uint8_t from[16], at[16];
    store(from, t);
    store(at, v);
    for (std::uint8_t& i : at) i = from[i & 15u];
    return load(at);
  }
  static TQ_FORCE_INLINE quads splat(const std::int8_t* p) noexcept {
    const __m128i x = _mm_set1_epi32(bits_at<xsimd::sse2>(p));
    return {_mm_srai_epi16(_mm_slli_epi16(x, 8), 8), _mm_srai_epi16(x, 8)};
  }
  using base::splat;
  static TQ_FORCE_INLINE parts begin(const sums& s) noexcept { return s; }
  template <bool>
  static TQ_FORCE_INLINE parts add(const parts& s, levels a, const quads& x) noexcept {
    const __m128i even = _mm_and_si128(a, _mm_set1_epi16(255)), odd = _mm_srli_epi16(a, 8);
    return sums(
        _mm_add_epi32(s, _mm_add_epi32(_mm_madd_epi16(even, x.even), _mm_madd_epi16(odd, x.odd))));
  }
  template <bool>
  static TQ_FORCE_INLINE sums end(const sums&, const parts& p) noexcept {
    return p;
  }
  static TQ_FORCE_INLINE sums numbers(const std::uint8_t* p) noexcept {
    const __m128i zero = _mm_setzero_si128(), bytes = _mm_cvtsi32_si128(bits_at<xsimd::sse2>(p));
    return sums(_mm_unpacklo_epi16(_mm_unpacklo_epi8(bytes, zero), zero));
  }
  static TQ_FORCE_INLINE sums lanes(levels v) noexcept { return sums(v); }
};

#if defined(__SSE4_2__)
namespace detail {
struct words128 {
  using type = __m128i;
  static TQ_FORCE_INLINE type all16(short v) noexcept { return _mm_set1_epi16(v); }
  static TQ_FORCE_INLINE type add16(type a, type b) noexcept { return _mm_add_epi16(a, b); }
  static TQ_FORCE_INLINE type products(type a, type x) noexcept { return _mm_maddubs_epi16(a, x); }
  static TQ_FORCE_INLINE type pairs(type a, type b) noexcept { return _mm_madd_epi16(a, b); }
  template <int Shift, int Mask>
  static TQ_FORCE_INLINE type field(type v) noexcept {
    return _mm_and_si128(_mm_srli_epi16(v, Shift), _mm_set1_epi8(Mask));
  }
};
}  // namespace detail

template <>
struct group_dot<xsimd::sse4_2> : detail::words_in_steps<xsimd::sse4_2, detail::words128> {
  static constexpr std::size_t registers = 2, rows = 2, float_rows = 2;
  using levels = __m128i;
  using tables = __m128i;

  static TQ_FORCE_INLINE levels load(const std::uint8_t* p) noexcept {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  }
  static TQ_FORCE_INLINE void store(std::uint8_t* p, levels v) noexcept {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), v);
  }
  template <int Shift, int Mask>
  static TQ_FORCE_INLINE levels field(levels v) noexcept {
    return detail::words128::field<Shift, Mask>(v);
  }
  template <int Shift>
  static TQ_FORCE_INLINE levels join(levels a, levels b) noexcept {
    return _mm_or_si128(a, _mm_slli_epi16(b, Shift));
  }
  static TQ_FORCE_INLINE tables table(const std::uint8_t* p) noexcept { return load(p); }
  static TQ_FORCE_INLINE levels lookup(tables t, levels v) noexcept {
    return _mm_shuffle_epi8(t, v);
  }
  using base::splat;
  static TQ_FORCE_INLINE quads splat(const std::int8_t* p) noexcept {
    return _mm_set1_epi32(bits_at<xsimd::sse4_2>(p));
  }
  static TQ_FORCE_INLINE sums numbers(const std::uint8_t* p) noexcept {
    return sums(_mm_cvtepu8_epi32(_mm_cvtsi32_si128(bits_at<xsimd::sse4_2>(p))));
  }
  static TQ_FORCE_INLINE sums lanes(levels v) noexcept { return sums(v); }
};
#endif

}  // namespace tq::arch

#endif

// SPDX-License-Identifier: MIT
#pragma once
// group_dot<avx2>, group_dot<avx512bw> and group_dot<avx512_vnni>: 256-bit and 512-bit registers.
// Included by group_dot.hpp, which describes the members.

#include <tq/arch/group_dot_base.hpp>

#if TQ_HAS_SIMD && defined(__AVX2__)

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace tq::arch {

namespace detail {
struct words256 {
  using type = __m256i;
  static TQ_FORCE_INLINE type all16(short v) noexcept { return _mm256_set1_epi16(v); }
  static TQ_FORCE_INLINE type add16(type a, type b) noexcept { return _mm256_add_epi16(a, b); }
  static TQ_FORCE_INLINE type products(type a, type x) noexcept {
    return _mm256_maddubs_epi16(a, x);
  }
  static TQ_FORCE_INLINE type pairs(type a, type b) noexcept { return _mm256_madd_epi16(a, b); }
  template <int Shift, int Mask>
  static TQ_FORCE_INLINE type field(type v) noexcept {
    return _mm256_and_si256(_mm256_srli_epi16(v, Shift), _mm256_set1_epi8(Mask));
  }
};

template <class Arch>
struct group_dot256 : words_in_steps<Arch, words256> {
  using base = words_in_steps<Arch, words256>;
  using sums = typename base::sums;
  static constexpr std::size_t registers = 2, rows = 2, float_rows = 3;
  using levels = __m256i;
  using quads = __m256i;
  using tables = __m256i;

  static TQ_FORCE_INLINE levels load(const std::uint8_t* p) noexcept {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static TQ_FORCE_INLINE void store(std::uint8_t* p, levels v) noexcept {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v);
  }
  template <int Shift, int Mask>
  static TQ_FORCE_INLINE levels field(levels v) noexcept {
    return words256::template field<Shift, Mask>(v);
  }
  template <int Shift>
  static TQ_FORCE_INLINE levels join(levels a, levels b) noexcept {
    return _mm256_or_si256(a, _mm256_slli_epi16(b, Shift));
  }
  static TQ_FORCE_INLINE tables table(const std::uint8_t* p) noexcept {
    return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static TQ_FORCE_INLINE levels lookup(tables t, levels v) noexcept {
    return _mm256_shuffle_epi8(t, v);
  }
  using base::splat;
  static TQ_FORCE_INLINE quads splat(const std::int8_t* p) noexcept {
    return _mm256_set1_epi32(bits_at<Arch>(p));
  }
  static TQ_FORCE_INLINE sums numbers(const std::uint8_t* p) noexcept {
    return sums(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
  }
  static TQ_FORCE_INLINE sums lanes(levels v) noexcept { return sums(v); }
};
}  // namespace detail

template <>
struct group_dot<xsimd::avx2> : detail::group_dot256<xsimd::avx2> {};
#if defined(__FMA__)
template <>
struct group_dot<xsimd::fma3<xsimd::avx2>> : detail::group_dot256<xsimd::fma3<xsimd::avx2>> {};
#endif

#if defined(__AVX512BW__)
namespace detail {
struct words512 {
  using type = __m512i;
  static TQ_FORCE_INLINE type all16(short v) noexcept { return _mm512_set1_epi16(v); }
  static TQ_FORCE_INLINE type add16(type a, type b) noexcept { return _mm512_add_epi16(a, b); }
  static TQ_FORCE_INLINE type products(type a, type x) noexcept {
    return _mm512_maddubs_epi16(a, x);
  }
  static TQ_FORCE_INLINE type pairs(type a, type b) noexcept { return _mm512_madd_epi16(a, b); }
  template <int Shift, int Mask>
  static TQ_FORCE_INLINE type field(type v) noexcept {
    if constexpr (Shift != 0) v = _mm512_srli_epi16(v, Shift);
    return _mm512_and_si512(v, _mm512_set1_epi8(Mask));
  }
};

struct word_steps512 : words_in_steps<xsimd::avx512bw, words512> {
  static constexpr std::size_t rows = 4;
};
#if defined(__AVX512VNNI__)
// One instruction a step, of bytes of any size.
struct byte_steps512 : group_batches<xsimd::avx512bw> {
  using base = group_batches<xsimd::avx512bw>;
  static constexpr std::size_t rows = 6;
  static constexpr std::size_t reach = 255 * 8;
  using levels = __m512i;
  using quads = __m512i;
  using parts = __m512i;
  static TQ_FORCE_INLINE parts begin(const sums& s) noexcept { return s; }
  template <bool>
  static TQ_FORCE_INLINE parts add(parts s, levels a, quads x) noexcept {
    return _mm512_dpbusd_epi32(s, a, x);
  }
  template <bool>
  static TQ_FORCE_INLINE sums end(const sums&, parts p) noexcept {
    return sums(p);
  }
};
#endif

template <class Steps>
struct group_dot512 : Steps {
  using base = typename Steps::base;
  using sums = typename base::sums;
  static constexpr std::size_t registers = 2, float_rows = 6;
  using levels = __m512i;
  using quads = __m512i;
  using tables = __m512i;

  static TQ_FORCE_INLINE levels load(const std::uint8_t* p) noexcept {
    return _mm512_loadu_si512(p);
  }
  static TQ_FORCE_INLINE void store(std::uint8_t* p, levels v) noexcept {
    _mm512_storeu_si512(p, v);
  }
  template <int Shift, int Mask>
  static TQ_FORCE_INLINE levels field(levels v) noexcept {
    return words512::template field<Shift, Mask>(v);
  }
  template <int Shift>
  static TQ_FORCE_INLINE levels join(levels a, levels b) noexcept {
    return _mm512_or_si512(a, _mm512_slli_epi16(b, Shift));
  }
  static TQ_FORCE_INLINE tables table(const std::uint8_t* p) noexcept {
    return _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static TQ_FORCE_INLINE levels lookup(tables t, levels v) noexcept {
    return _mm512_shuffle_epi8(t, v);
  }
  using base::splat;
  static TQ_FORCE_INLINE quads splat(const std::int8_t* p) noexcept {
    return _mm512_set1_epi32(bits_at<xsimd::avx512bw>(p));
  }
  static TQ_FORCE_INLINE sums numbers(const std::uint8_t* p) noexcept {
    return sums(_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
  }
  static TQ_FORCE_INLINE sums lanes(levels v) noexcept { return sums(v); }
};
}  // namespace detail

template <>
struct group_dot<xsimd::avx512bw> : detail::group_dot512<detail::word_steps512> {};
#if defined(__AVX512VNNI__)
template <>
struct group_dot<avx512_vnni> : detail::group_dot512<detail::byte_steps512> {};
#endif
#endif

}  // namespace tq::arch

#endif

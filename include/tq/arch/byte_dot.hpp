// SPDX-License-Identifier: MIT
#pragma once
// byte_dot<Instructions>: sums of products of bytes, four by four, by instructions made for it.
// Sums wrap and never saturate. Its members are those of pair_dot.

#include <tq/arch/batch.hpp>
#include <tq/arch/narrow_dot.hpp>
#include <tq/arch/pair_dot.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tq::arch {

/// vpdpbusd of AVX-512 VNNI.
struct avx512_vnni;
/// vpdpbusd of AVX-VNNI, in registers of 256 bits.
struct avx_vnni;

template <class Instructions>
struct byte_dot;

#if TQ_HAS_SIMD && defined(__AVX512BW__) && defined(__AVX512VNNI__)
template <>
struct byte_dot<avx512_vnni> {
  using number = std::uint8_t;
  static constexpr std::size_t depth = 4;
  static constexpr std::size_t columns = 64;
  static constexpr std::size_t rows = 6;
  static constexpr std::size_t width = 16;
  using sums = __m512i;
  using numbers = __m512i;
  static TQ_FORCE_INLINE sums zero() noexcept { return _mm512_setzero_si512(); }
  static TQ_FORCE_INLINE numbers load(const std::int8_t* p) noexcept {
    return _mm512_loadu_si512(p);
  }
  static TQ_FORCE_INLINE numbers splat(const std::uint8_t* p) noexcept {
    return _mm512_set1_epi32(bits_at<avx512_vnni>(p));
  }
  static TQ_FORCE_INLINE sums add(sums s, numbers a, numbers b) noexcept {
    return _mm512_dpbusd_epi32(s, a, b);
  }
  static TQ_FORCE_INLINE sums plus(sums s, sums t) noexcept { return _mm512_add_epi32(s, t); }
  static TQ_FORCE_INLINE sums read(const std::int32_t* p) noexcept { return _mm512_loadu_si512(p); }
  static TQ_FORCE_INLINE void store(std::int32_t* p, sums s) noexcept { _mm512_storeu_si512(p, s); }
};
#endif

#if TQ_HAS_SIMD && defined(__AVX2__) && defined(__AVXVNNI__)
template <>
struct byte_dot<avx_vnni> {
  using number = std::uint8_t;
  static constexpr std::size_t depth = 4;
  static constexpr std::size_t columns = 16;
  static constexpr std::size_t rows = 6;
  static constexpr std::size_t width = 8;
  using sums = __m256i;
  using numbers = __m256i;
  static TQ_FORCE_INLINE sums zero() noexcept { return _mm256_setzero_si256(); }
  static TQ_FORCE_INLINE numbers load(const std::int8_t* p) noexcept {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static TQ_FORCE_INLINE numbers splat(const std::uint8_t* p) noexcept {
    return _mm256_set1_epi32(bits_at<avx_vnni>(p));
  }
  static TQ_FORCE_INLINE sums add(sums s, numbers a, numbers b) noexcept {
    return _mm256_dpbusd_avx_epi32(s, a, b);
  }
  static TQ_FORCE_INLINE sums plus(sums s, sums t) noexcept { return _mm256_add_epi32(s, t); }
  static TQ_FORCE_INLINE sums read(const std::int32_t* p) noexcept {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static TQ_FORCE_INLINE void store(std::int32_t* p, sums s) noexcept {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), s);
  }
};
#endif

namespace detail {
template <class Arch>
struct best_dot {
  using type = pair_dot<Arch>;
};
#if TQ_HAS_SIMD && defined(__AVX512BW__) && defined(__AVX512VNNI__)
template <>
struct best_dot<xsimd::avx512bw> {
  using type = byte_dot<avx512_vnni>;
};
#endif
#if TQ_HAS_SIMD && defined(__AVX2__)
template <>
struct best_dot<xsimd::avx2> {
#if defined(__AVXVNNI__)
  using type = byte_dot<avx_vnni>;
#else
  using type = narrow_dot<xsimd::avx2>;
#endif
};
#if defined(__FMA__)
template <>
struct best_dot<xsimd::fma3<xsimd::avx2>> : best_dot<xsimd::avx2> {};
#endif
#endif
}  // namespace detail

/// The dot with which an instruction set, and what the compiler may use beside it, is fastest. It
/// may be a NarrowDot, which not all weights are for.
template <class Arch>
using best_dot = typename detail::best_dot<Arch>::type;

}  // namespace tq::arch

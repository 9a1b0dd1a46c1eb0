// SPDX-License-Identifier: MIT
#pragma once
// narrow_dot<Arch>: sums of products of bytes, four by four, by instructions that add neighbours in
// 16 bits and saturate there. It is a pair_dot with one more member, `narrow`: its weights are such
// that no two products leave 16 bits, whatever the numbers are (`is_narrow`), and so its sums are
// exact.

#include <tq/arch/batch.hpp>
#include <tq/arch/pair_dot.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tq::arch {

/// Whether u * a + v * b fits 16 bits for all u and v from 0 to 255.
constexpr bool is_narrow(std::int32_t a, std::int32_t b) noexcept {
  return std::max(a, 0) + std::max(b, 0) <= 128 && std::min(a, 0) + std::min(b, 0) >= -128;
}

/// A dot of narrow weights.
template <class Dot>
concept NarrowDot = requires { requires Dot::narrow; };

template <class Arch>
struct narrow_dot;

#if TQ_HAS_SIMD && defined(__AVX2__)
namespace detail {
// Bytes four by four, but for what multiplies them.
template <class Arch>
struct quads;
template <>
struct quads<xsimd::avx2> : pair_dot<xsimd::avx2> {
  using number = std::uint8_t;
  static constexpr std::size_t depth = 4;
  static TQ_FORCE_INLINE numbers load(const std::int8_t* p) noexcept {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static TQ_FORCE_INLINE numbers splat(const std::uint8_t* p) noexcept {
    return _mm256_set1_epi32(bits_at<xsimd::avx2>(p));
  }
};
}  // namespace detail

/// vpmaddubsw, and vpmaddwd by ones.
template <>
struct narrow_dot<xsimd::avx2> : detail::quads<xsimd::avx2> {
  static constexpr bool narrow = true;
  static TQ_FORCE_INLINE sums add(sums s, numbers a, numbers b) noexcept {
    const __m256i pairs = _mm256_maddubs_epi16(a, b);
    return _mm256_add_epi32(s, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  }
};
#endif

}  // namespace tq::arch

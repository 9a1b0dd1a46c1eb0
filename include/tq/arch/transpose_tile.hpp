// SPDX-License-Identifier: MIT
#pragma once
// Squares of elements whose columns lie side by side in memory, turned by interleaving registers of
// 16 bytes.

#include <tq/arch/isa.hpp>

#include <cstddef>
#include <cstdint>

#if TQ_HAS_SIMD
#if defined(__aarch64__)
#include <arm_neon.h>
#else
#include <emmintrin.h>
#endif
#endif

namespace tq::arch {

/// Elements of `Bytes` bytes that a square has on a side; 0 where there are none.
template <class Arch, std::size_t Bytes>
inline constexpr std::size_t square_side = std::is_same_v<Arch, scalar> ? 0 : 16 / Bytes;

#if TQ_HAS_SIMD

namespace detail {
#if defined(__aarch64__)
using square_row = uint8x16_t;
TQ_FORCE_INLINE square_row load_row(const void* p) noexcept {
  return vld1q_u8(static_cast<const unsigned char*>(p));
}
TQ_FORCE_INLINE void store_row(void* p, square_row v) noexcept {
  vst1q_u8(static_cast<unsigned char*>(p), v);
}
template <std::size_t Bytes, bool High>
TQ_FORCE_INLINE square_row interleave(square_row a, square_row b) noexcept {
  if constexpr (Bytes == 1) {
    return High ? vzip2q_u8(a, b) : vzip1q_u8(a, b);
  } else if constexpr (Bytes == 2) {
    const uint16x8_t u = vreinterpretq_u16_u8(a), v = vreinterpretq_u16_u8(b);
    return vreinterpretq_u8_u16(High ? vzip2q_u16(u, v) : vzip1q_u16(u, v));
  } else if constexpr (Bytes == 4) {
    const uint32x4_t u = vreinterpretq_u32_u8(a), v = vreinterpretq_u32_u8(b);
    return vreinterpretq_u8_u32(High ? vzip2q_u32(u, v) : vzip1q_u32(u, v));
  } else {
    const uint64x2_t u = vreinterpretq_u64_u8(a), v = vreinterpretq_u64_u8(b);
    return vreinterpretq_u8_u64(High ? vzip2q_u64(u, v) : vzip1q_u64(u, v));
  }
}
#else
using square_row = __m128i;
TQ_FORCE_INLINE square_row load_row(const void* p) noexcept {
  return _mm_loadu_si128(static_cast<const __m128i*>(p));
}
TQ_FORCE_INLINE void store_row(void* p, square_row v) noexcept {
  _mm_storeu_si128(static_cast<__m128i*>(p), v);
}
template <std::size_t Bytes, bool High>
TQ_FORCE_INLINE square_row interleave(square_row a, square_row b) noexcept {
  if constexpr (Bytes == 1) return High ? _mm_unpackhi_epi8(a, b) : _mm_unpacklo_epi8(a, b);
  else if constexpr (Bytes == 2) return High ? _mm_unpackhi_epi16(a, b) : _mm_unpacklo_epi16(a, b);
  else if constexpr (Bytes == 4) return High ? _mm_unpackhi_epi32(a, b) : _mm_unpacklo_epi32(a, b);
  else return High ? _mm_unpackhi_epi64(a, b) : _mm_unpacklo_epi64(a, b);
}
#endif
}  // namespace detail

/// Columns of a square, `column` elements apart, to rows that are `row` elements apart.
template <class Arch, class T>
TQ_FORCE_INLINE void turn_square(const T* from, std::ptrdiff_t column, T* to,
                                 std::ptrdiff_t row) noexcept {
  constexpr std::size_t side = square_side<Arch, sizeof(T)>;
  detail::square_row v[side], w[side];
  TQ_UNROLL for (std::size_t k = 0; k < side; ++k) v[k] =
      detail::load_row(from + static_cast<std::ptrdiff_t>(k) * column);
  // Each round interleaves rows with those half a square below, until what was a column is a row.
  const auto round = [](const detail::square_row(&a)[side],
                        detail::square_row(&b)[side]) TQ_LAMBDA_INLINE {
    TQ_UNROLL for (std::size_t k = 0; k < side / 2; ++k) {
      b[2 * k] = detail::interleave<sizeof(T), false>(a[k], a[k + side / 2]);
      b[2 * k + 1] = detail::interleave<sizeof(T), true>(a[k], a[k + side / 2]);
    }
  };
  round(v, w);
  if constexpr (side >= 4) round(w, v);
  if constexpr (side >= 8) round(v, w);
  if constexpr (side >= 16) round(w, v);
  const detail::square_row* rows = side == 4 || side == 16 ? v : w;
  TQ_UNROLL for (std::size_t k = 0; k < side; ++k)
      detail::store_row(to + static_cast<std::ptrdiff_t>(k) * row, rows[k]);
}

#endif

}  // namespace tq::arch

// SPDX-License-Identifier: MIT
#pragma once
// Squares of elements whose columns lie side by side in memory, turned by interleaving registers of
// 32 bytes, or of 16.

#include <tq/arch/batch.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#if TQ_HAS_SIMD
#if defined(__aarch64__)
#include <arm_neon.h>
#else
#include <immintrin.h>
#endif
#endif

namespace tq::arch {

namespace detail {
/// Bytes of the registers that turn elements of `Bytes` bytes. Registers of 64 bytes are slower, as
/// more of their pieces move between halves (Zen 4). Squares of bytes would need 32 registers.
template <class Arch, std::size_t Bytes>
inline constexpr std::size_t square_register_bytes = [] {
  if constexpr (std::is_same_v<Arch, scalar>) return std::size_t{0};
#if TQ_HAS_SIMD && defined(__AVX2__)
  else if constexpr (Bytes > 1 && width<Arch> >= 8) return std::size_t{32};
#endif
  else return std::size_t{16};
}();
}  // namespace detail

/// Elements of `Bytes` bytes that a square has on a side; 0 where there are none.
template <class Arch, std::size_t Bytes>
inline constexpr std::size_t square_side = detail::square_register_bytes<Arch, Bytes> / Bytes;

#if TQ_HAS_SIMD

namespace detail {
// Registers of `Size` bytes; `interleave` takes the lower (`High`: upper) halves of their pieces of
// 16 bytes.
template <class Arch, std::size_t Size>
struct square_row;

#if defined(__aarch64__)
template <class Arch>
struct square_row<Arch, 16> {
  using type = uint8x16_t;
  static TQ_FORCE_INLINE type load(const void* p) noexcept {
    return vld1q_u8(static_cast<const unsigned char*>(p));
  }
  static TQ_FORCE_INLINE void store(void* p, type v) noexcept {
    vst1q_u8(static_cast<unsigned char*>(p), v);
  }
  template <std::size_t Bytes, bool High>
  static TQ_FORCE_INLINE type interleave(type a, type b) noexcept {
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
};
#else
template <class Arch>
struct square_row<Arch, 16> {
  using type = __m128i;
  static TQ_FORCE_INLINE type load(const void* p) noexcept {
    return _mm_loadu_si128(static_cast<const __m128i*>(p));
  }
  static TQ_FORCE_INLINE void store(void* p, type v) noexcept {
    _mm_storeu_si128(static_cast<__m128i*>(p), v);
  }
  template <std::size_t Bytes, bool High>
  static TQ_FORCE_INLINE type interleave(type a, type b) noexcept {
    if constexpr (Bytes == 1) return High ? _mm_unpackhi_epi8(a, b) : _mm_unpacklo_epi8(a, b);
    else if constexpr (Bytes == 2)
      return High ? _mm_unpackhi_epi16(a, b) : _mm_unpacklo_epi16(a, b);
    else if constexpr (Bytes == 4)
      return High ? _mm_unpackhi_epi32(a, b) : _mm_unpacklo_epi32(a, b);
    else return High ? _mm_unpackhi_epi64(a, b) : _mm_unpacklo_epi64(a, b);
  }
};
#if defined(__AVX2__)
template <class Arch>
struct square_row<Arch, 32> {
  using type = __m256i;
  static TQ_FORCE_INLINE type load(const void* p) noexcept {
    return _mm256_loadu_si256(static_cast<const __m256i*>(p));
  }
  static TQ_FORCE_INLINE void store(void* p, type v) noexcept {
    _mm256_storeu_si256(static_cast<__m256i*>(p), v);
  }
  template <std::size_t Bytes, bool High>
  static TQ_FORCE_INLINE type interleave(type a, type b) noexcept {
    if constexpr (Bytes == 2)
      return High ? _mm256_unpackhi_epi16(a, b) : _mm256_unpacklo_epi16(a, b);
    else if constexpr (Bytes == 4)
      return High ? _mm256_unpackhi_epi32(a, b) : _mm256_unpacklo_epi32(a, b);
    else return High ? _mm256_unpackhi_epi64(a, b) : _mm256_unpacklo_epi64(a, b);
  }
  // The lower (upper) halves of a and b.
  template <bool High>
  static TQ_FORCE_INLINE type halves(type a, type b) noexcept {
    return _mm256_permute2x128_si256(a, b, High ? 0x31 : 0x20);
  }
};
#endif
#endif
}  // namespace detail

/// Columns of a square, `column` elements apart, to rows that are `row` elements apart.
template <class Arch, class T>
TQ_FORCE_INLINE void turn_square(const T* from, std::ptrdiff_t column, T* to,
                                 std::ptrdiff_t row) noexcept {
  constexpr std::size_t side = square_side<Arch, sizeof(T)>, piece = 16 / sizeof(T);
  using Row = detail::square_row<Arch, side * sizeof(T)>;
  typename Row::type v[side], w[side];
  TQ_UNROLL for (std::size_t k = 0; k < side; ++k) v[k] =
      Row::load(from + static_cast<std::ptrdiff_t>(k) * column);
  // The columns of a piece are turned together: each round interleaves them with those half a piece
  // further, until each piece has elements of one row.
  const auto round = [](const typename Row::type(&a)[side],
                        typename Row::type(&b)[side]) TQ_LAMBDA_INLINE {
    TQ_UNROLL for (std::size_t h = 0; h < side; h += piece)
        TQ_UNROLL for (std::size_t k = 0; k < piece / 2; ++k) {
      const auto low = a[h + k], high = a[h + k + piece / 2];
      b[h + 2 * k] = Row::template interleave<sizeof(T), false>(low, high);
      b[h + 2 * k + 1] = Row::template interleave<sizeof(T), true>(low, high);
    }
  };
  round(v, w);
  if constexpr (piece >= 4) round(w, v);
  if constexpr (piece >= 8) round(v, w);
  if constexpr (piece >= 16) round(w, v);
  const typename Row::type* const rows = piece == 4 || piece == 16 ? v : w;
  const auto store = [&](std::size_t k, typename Row::type r) TQ_LAMBDA_INLINE {
    Row::store(to + static_cast<std::ptrdiff_t>(k) * row, r);
  };
  TQ_UNROLL for (std::size_t k = 0; k < piece; ++k) {
    if constexpr (side == piece) {
      store(k, rows[k]);
    } else {
      store(k, Row::template halves<false>(rows[k], rows[k + piece]));
      store(k + piece, Row::template halves<true>(rows[k], rows[k + piece]));
    }
  }
}

#endif

}  // namespace tq::arch

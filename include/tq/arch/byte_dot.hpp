// SPDX-License-Identifier: MIT
#pragma once
// byte_dot<Instructions>: sums of products of bytes, four by four or eight by eight, by
// instructions made for it. Sums wrap and never saturate. Its members are those of pair_dot.
//
// Where instructions multiply two rows at once it has `two_rows` as well, which is a dot but for
//   splat(p, q)       the D numbers at p and the D at q
//   add(s, a, b)      as of a dot, for both rows
//   read(p, q), store(p, q, s)   W sums of the one row and W of the other

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
/// sdot of NEON, whose bytes are signed.
struct neon_dot;
/// smmla and sdot of NEON, or usmmla and usdot: rows of int8, or of uint8.
template <class Number>
struct neon_i8mm;

template <class Instructions>
struct byte_dot;

#if TQ_HAS_SIMD && defined(__AVX512BW__) && defined(__AVX512VNNI__)
template <>
struct byte_dot<avx512_vnni> : pair_dot<xsimd::avx512bw> {
  using number = std::uint8_t;
  static constexpr std::size_t depth = 4;
  static constexpr std::size_t columns = 64;
  static constexpr std::size_t rows = 6;
  static TQ_FORCE_INLINE numbers load(const std::int8_t* p) noexcept {
    return _mm512_loadu_si512(p);
  }
  static TQ_FORCE_INLINE numbers splat(const std::uint8_t* p) noexcept {
    return _mm512_set1_epi32(bits_at<avx512_vnni>(p));
  }
  static TQ_FORCE_INLINE sums add(sums s, numbers a, numbers b) noexcept {
    return _mm512_dpbusd_epi32(s, a, b);
  }
};
#endif

#if TQ_HAS_SIMD && defined(__AVX2__) && defined(__AVXVNNI__)
template <>
struct byte_dot<avx_vnni> : detail::quads<xsimd::avx2> {
  static TQ_FORCE_INLINE sums add(sums s, numbers a, numbers b) noexcept {
    return _mm256_dpbusd_avx_epi32(s, a, b);
  }
};
#endif

#if TQ_HAS_SIMD && defined(__aarch64__) && defined(__ARM_FEATURE_DOTPROD)
template <>
struct byte_dot<neon_dot> : pair_dot<xsimd::neon64> {
  using number = std::int8_t;
  using numbers = int8x16_t;
  static constexpr std::size_t depth = 4;
  static constexpr std::size_t rows = 5;
  static TQ_FORCE_INLINE numbers load(const std::int8_t* p) noexcept { return vld1q_s8(p); }
  static TQ_FORCE_INLINE numbers splat(const std::int8_t* p) noexcept {
    return vreinterpretq_s8_s32(vdupq_n_s32(bits_at<neon_dot>(p)));
  }
  static TQ_FORCE_INLINE sums add(sums s, numbers a, numbers b) noexcept {
    return vdotq_s32(s, a, b);
  }
};

#if defined(__ARM_FEATURE_MATMUL_INT8)
namespace detail {
// Four columns as two pairs: registers hold the weights, or the sums, of a pair.
struct neon_i8mm_shape {
  static constexpr std::size_t depth = 8;
  static constexpr std::size_t columns = 16;
  static constexpr std::size_t rows = 4;
  static constexpr std::size_t width = 4;
  struct sums {
    int32x4_t low, high;
  };
  struct numbers {
    int8x16_t low, high;
  };
  static TQ_FORCE_INLINE sums zero() noexcept { return {vdupq_n_s32(0), vdupq_n_s32(0)}; }
  static TQ_FORCE_INLINE numbers load(const std::int8_t* p) noexcept {
    return {vld1q_s8(p), vld1q_s8(p + 16)};
  }
  static TQ_FORCE_INLINE int8x16_t both(const void* p, const void* q) noexcept {
    return vcombine_s8(vld1_s8(static_cast<const std::int8_t*>(p)),
                       vld1_s8(static_cast<const std::int8_t*>(q)));
  }
};

template <class Number>
struct neon_i8mm_rows : neon_i8mm_shape {
  static TQ_FORCE_INLINE numbers splat(const Number* p, const Number* q) noexcept {
    const int8x16_t a = both(p, q);
    return {a, a};
  }
  static TQ_FORCE_INLINE sums add(sums s, numbers a, numbers b) noexcept {
    return {multiply(s.low, a.low, b.low), multiply(s.high, a.high, b.high)};
  }
  static TQ_FORCE_INLINE sums read(const std::int32_t* p, const std::int32_t* q) noexcept {
    return turned(vld1q_s32(p), vld1q_s32(q));
  }
  static TQ_FORCE_INLINE void store(std::int32_t* p, std::int32_t* q, sums s) noexcept {
    const sums of_rows = turned(s.low, s.high);
    vst1q_s32(p, of_rows.low);
    vst1q_s32(q, of_rows.high);
  }

 private:
  // [row][column] of two by two.
  static TQ_FORCE_INLINE int32x4_t multiply(int32x4_t s, int8x16_t a, int8x16_t b) noexcept {
    if constexpr (std::is_signed_v<Number>) return vmmlaq_s32(s, a, b);
    else return vusmmlaq_s32(s, vreinterpretq_u8_s8(a), b);
  }
  // Joins the lower halves, and the upper halves: this turns rows of four into two by two, and
  // back.
  static TQ_FORCE_INLINE sums turned(int32x4_t a, int32x4_t b) noexcept {
    return {vcombine_s32(vget_low_s32(a), vget_low_s32(b)),
            vcombine_s32(vget_high_s32(a), vget_high_s32(b))};
  }
};
}  // namespace detail

// A row alone has two sums for each column, of four numbers each.
template <class Number>
struct byte_dot<neon_i8mm<Number>> : detail::neon_i8mm_shape {
  using number = Number;
  using two_rows = detail::neon_i8mm_rows<Number>;
  static TQ_FORCE_INLINE numbers splat(const Number* p) noexcept {
    const int8x16_t a = both(p, p);
    return {a, a};
  }
  static TQ_FORCE_INLINE sums add(sums s, numbers a, numbers b) noexcept {
    return {multiply(s.low, a.low, b.low), multiply(s.high, a.high, b.high)};
  }
  static TQ_FORCE_INLINE sums plus(sums s, sums t) noexcept {
    return {vaddq_s32(s.low, t.low), vaddq_s32(s.high, t.high)};
  }
  static TQ_FORCE_INLINE sums read(const std::int32_t* p) noexcept {
    const int32x4_t s = vld1q_s32(p), none = vdupq_n_s32(0);
    return {vzip1q_s32(s, none), vzip2q_s32(s, none)};
  }
  static TQ_FORCE_INLINE void store(std::int32_t* p, sums s) noexcept {
    vst1q_s32(p, vpaddq_s32(s.low, s.high));
  }

 private:
  static TQ_FORCE_INLINE int32x4_t multiply(int32x4_t s, int8x16_t a, int8x16_t b) noexcept {
    if constexpr (std::is_signed_v<Number>) return vdotq_s32(s, a, b);
    else return vusdotq_s32(s, vreinterpretq_u8_s8(a), b);
  }
};
#endif
#endif

namespace detail {
template <class Arch, class Number>
struct best_dot {
  using type = pair_dot<Arch>;
};
#if TQ_HAS_SIMD && defined(__AVX512BW__) && defined(__AVX512VNNI__)
template <class Number>
struct best_dot<xsimd::avx512bw, Number> {
  using type = byte_dot<avx512_vnni>;
};
#endif
#if TQ_HAS_SIMD && defined(__AVX2__)
template <class Number>
struct best_dot<xsimd::avx2, Number> {
#if defined(__AVXVNNI__)
  using type = byte_dot<avx_vnni>;
#else
  using type = narrow_dot<xsimd::avx2>;
#endif
};
#if defined(__FMA__)
template <class Number>
struct best_dot<xsimd::fma3<xsimd::avx2>, Number> : best_dot<xsimd::avx2, Number> {};
#endif
#endif
#if TQ_HAS_SIMD && defined(__aarch64__) && defined(__ARM_FEATURE_DOTPROD)
template <class Number>
struct best_dot<xsimd::neon64, Number> {
#if defined(__ARM_FEATURE_MATMUL_INT8)
  using type = byte_dot<neon_i8mm<Number>>;
#else
  using type = byte_dot<neon_dot>;
#endif
};
#endif
}  // namespace detail

/// The dot with which an instruction set, and what the compiler may use beside it, is fastest for
/// rows of uint8 or of int8. Both read weights in the same order. It may be a NarrowDot, which not
/// all weights are for.
template <class Arch, class Number = std::uint8_t>
using best_dot = typename detail::best_dot<Arch, Number>::type;

}  // namespace tq::arch

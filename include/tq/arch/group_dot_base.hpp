// SPDX-License-Identifier: MIT
#pragma once
// group_dot<scalar>, and what group_dot of other instruction sets share. Included by group_dot.hpp,
// which describes the members.

#include <tq/arch/batch.hpp>
#include <tq/arch/lanes.hpp>
#include <tq/arch/lookup.hpp>
#include <tq/arch/scalar.hpp>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tq::arch {

template <class Arch>
struct group_dot;

/// vpdpbusd of AVX-512 VNNI.
struct avx512_vnni;

namespace detail {
// `Width` ones from bit `place` on; and the bits of the float 2^(23 - place), whose significand has
// the value 1 there.
constexpr std::uint32_t mask_at(int place, int width) noexcept {
  return ((1u << width) - 1u) << place;
}
constexpr std::uint32_t base_at(int place) noexcept {
  return static_cast<std::uint32_t>(127 + 23 - place) << 23;
}
}  // namespace detail

template <>
struct group_dot<scalar> {
  static constexpr std::size_t width = 1, registers = 1, rows = 4, float_rows = 4;
  static constexpr bool fuses = true;
  static constexpr std::size_t reach = 255 * 8;
  using levels = std::uint32_t;
  using quads = std::uint32_t;
  using sums = std::int32_t;
  using parts = std::int32_t;
  using floats = float;
  struct tables {
    std::uint8_t byte[16];
  };

  static levels load(const std::uint8_t* p) noexcept {
    levels v;
    std::memcpy(&v, p, sizeof v);
    return v;
  }
  static void store(std::uint8_t* p, levels v) noexcept { std::memcpy(p, &v, sizeof v); }
  template <int Shift, int Mask>
  static levels field(levels v) noexcept {
    return v >> Shift & 0x01010101u * static_cast<unsigned>(Mask);
  }
  template <int Shift>
  static levels join(levels a, levels b) noexcept {
    return a | b << Shift;
  }
  static tables table(const std::uint8_t* p) noexcept {
    tables t;
    std::memcpy(t.byte, p, sizeof t.byte);
    return t;
  }
  static levels lookup(const tables& t, levels v) noexcept {
    return t.byte[v & 15u] | levels{t.byte[v >> 8 & 15u]} << 8 |
           levels{t.byte[v >> 16 & 15u]} << 16 | levels{t.byte[v >> 24 & 15u]} << 24;
  }
  static quads splat(const std::int8_t* p) noexcept {
    quads v;
    std::memcpy(&v, p, sizeof v);
    return v;
  }
  static parts begin(sums s) noexcept { return s; }
  template <bool>
  static parts add(parts s, levels a, quads x) noexcept {
    std::uint8_t level[4];
    std::int8_t number[4];
    std::memcpy(level, &a, sizeof a);
    std::memcpy(number, &x, sizeof x);
    std::int32_t sum = 0;
    for (int i = 0; i < 4; ++i) sum += level[i] * number[i];
    return static_cast<parts>(static_cast<std::uint32_t>(s) + static_cast<std::uint32_t>(sum));
  }
  template <bool>
  static sums end(sums, parts p) noexcept {
    return p;
  }
  static sums numbers(const std::uint8_t* p) noexcept { return *p; }
  static sums lanes(levels v) noexcept { return static_cast<sums>(v); }
  template <int J>
  static sums byte(sums v) noexcept {
    return static_cast<sums>(static_cast<std::uint32_t>(v) >> (8 * J) & 255u);
  }
  template <int Shift, int Place, int Width>
  static floats based(sums v) noexcept {
    return std::bit_cast<float>(
        (static_cast<std::uint32_t>(v) >> Shift & detail::mask_at(Place, Width)) |
        detail::base_at(Place));
  }
  static sums all(std::int32_t i) noexcept { return i; }
  static sums multiply(sums a, sums b) noexcept {
    return static_cast<sums>(static_cast<std::uint32_t>(a) * static_cast<std::uint32_t>(b));
  }
  static sums subtract(sums a, sums b) noexcept { return a - b; }
  static floats value(sums s) noexcept { return static_cast<floats>(s); }
  static floats read(const float* p) noexcept { return *p; }
  static void write(float* p, floats v) noexcept { *p = v; }
  static floats splat(float v) noexcept { return v; }
  static floats times(floats a, floats b) noexcept { return a * b; }
  static floats plus(floats a, floats b) noexcept { return a + b; }
  static floats minus(floats a, floats b) noexcept { return a - b; }
  static floats fma(floats a, floats b, floats c) noexcept { return std::fma(a, b, c); }
  static floats add_product(floats a, floats b, floats c) noexcept { return std::fma(a, b, c); }
  static floats entry(const float* t, sums i) noexcept { return t[i]; }
};

#if TQ_HAS_SIMD
namespace detail {

// The operations that batches of xsimd have on all instruction sets.
template <class Arch>
struct group_batches {
  using sums = ints<Arch>;
  using floats = arch::floats<Arch>;
  static constexpr std::size_t width = arch::width<Arch>;
  static constexpr bool fuses = lanes<Arch>::has_fma;

  static TQ_FORCE_INLINE sums all(std::int32_t i) noexcept { return sums(i); }
  static TQ_FORCE_INLINE sums multiply(const sums& a, const sums& b) noexcept { return a * b; }
  static TQ_FORCE_INLINE sums subtract(const sums& a, const sums& b) noexcept { return a - b; }
  static TQ_FORCE_INLINE floats value(const sums& s) noexcept { return xsimd::to_float(s); }
  static TQ_FORCE_INLINE floats read(const float* p) noexcept { return floats::load_unaligned(p); }
  static TQ_FORCE_INLINE void write(float* p, const floats& v) noexcept { v.store_unaligned(p); }
  static TQ_FORCE_INLINE floats splat(float v) noexcept { return floats(v); }
  static TQ_FORCE_INLINE floats times(const floats& a, const floats& b) noexcept { return a * b; }
  static TQ_FORCE_INLINE floats plus(const floats& a, const floats& b) noexcept { return a + b; }
  static TQ_FORCE_INLINE floats minus(const floats& a, const floats& b) noexcept { return a - b; }
  static TQ_FORCE_INLINE floats fma(const floats& a, const floats& b, const floats& c) noexcept {
    if constexpr (lanes<Arch>::has_fma) {
      return lanes<Arch>::fma(a, b, c);
    } else {
      alignas(64) float x[width], y[width], z[width];
      a.store_aligned(x);
      b.store_aligned(y);
      c.store_aligned(z);
      for (std::size_t i = 0; i < width; ++i) z[i] = std::fma(x[i], y[i], z[i]);
      return floats::load_aligned(z);
    }
  }
  static TQ_FORCE_INLINE floats add_product(const floats& a, const floats& b,
                                            const floats& c) noexcept {
    if constexpr (fuses) return fma(a, b, c);
    else return a * b + c;
  }
  static TQ_FORCE_INLINE floats entry(const float* t, const sums& i) noexcept {
    return arch::lookup<Arch, 16>(t, i);
  }
  template <int J>
  static TQ_FORCE_INLINE sums byte(const sums& v) noexcept {
    if constexpr (J == 0) return v & sums(255);
    else return (v >> (8 * J)) & sums(255);
  }
  template <int Shift, int Place, int Width>
  static TQ_FORCE_INLINE floats based(sums v) noexcept {
    if constexpr (Shift != 0) v = v >> Shift;
    return bit_cast<float>((v & sums(static_cast<int>(mask_at(Place, Width)))) |
                           sums(static_cast<int>(base_at(Place))));
  }
};

// Sums of 16 bits by vpmaddubsw: levels whose sum is at most 127, in each of two places, reach
// 2 * 127 * 128, and a byte is two levels up to 15.
template <class Arch, class Words>
struct words_in_steps : group_batches<Arch> {
  using base = group_batches<Arch>;
  using sums = typename base::sums;
  using levels = typename Words::type;
  using quads = levels;
  static constexpr std::size_t reach = 127;
  struct parts {
    levels low, high;
  };

  static TQ_FORCE_INLINE parts begin(const sums&) noexcept {
    return {Words::all16(0), Words::all16(0)};
  }
  template <bool Wide>
  static TQ_FORCE_INLINE parts add(const parts& p, levels a, quads x) noexcept {
    if constexpr (!Wide) {
      return {Words::add16(p.low, Words::products(a, x)), p.high};
    } else {
      return {Words::add16(p.low, Words::products(Words::template field<0, 15>(a), x)),
              Words::add16(p.high, Words::products(Words::template field<4, 15>(a), x))};
    }
  }
  template <bool Wide>
  static TQ_FORCE_INLINE sums end(const sums& s, const parts& p) noexcept {
    sums out = s + sums(Words::pairs(p.low, Words::all16(1)));
    if constexpr (Wide) out = out + sums(Words::pairs(p.high, Words::all16(16)));
    return out;
  }
};

}  // namespace detail
#endif

}  // namespace tq::arch

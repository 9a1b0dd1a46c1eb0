// SPDX-License-Identifier: MIT
#pragma once
// Loops over rows: heads, bodies, tails and streaming, for any source, stage and sink.

#include <tq/arch/cpu.hpp>
#include <tq/arch/prefetch.hpp>
#include <tq/driver/cursor.hpp>
#include <tq/driver/kernel.hpp>
#include <tq/driver/stores.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tq::driver {

namespace detail {

/// The byte in which element `i` of those of `Bits` bits begins: without a multiplication that
/// could wrap. Precondition: of those that have no power of two of bits, i is a multiple of eight.
template <int Bits>
TQ_FORCE_INLINE constexpr std::size_t byte_at(std::size_t i) noexcept {
  if constexpr (Bits % 8 == 0) return i * (Bits / 8);
  else if constexpr (8 % Bits == 0) return i / (8 / Bits);
  else return i / 8 * Bits;
}
template <int Bits>
TQ_FORCE_INLINE constexpr std::size_t bytes_of(std::size_t n) noexcept {
  if constexpr (Bits % 8 == 0) return n * (Bits / 8);
  else return n / 8 * Bits + (n % 8 * Bits + 7) / 8;
}
/// How many elements of `Bits` bits lie side by side until one begins on a byte again.
template <int Bits>
inline constexpr std::size_t elements_of_whole_bytes = Bits % 8 == 0 ? 1
                                                       : Bits == 4   ? 2
                                                       : Bits == 2   ? 4
                                                                     : 8;

/// Element by element: without SIMD there is nothing else.
template <class Arch, class S, class T, class K>
struct loops {
  enum class Entry { row, block, element };
  template <Entry Of>
  static void rows(const Rows<Arch>& r) noexcept {
    for (std::size_t k = 0; k < r.count; ++k) {
      const auto s = static_cast<std::ptrdiff_t>(k);
      const unsigned char* in = r.in + s * r.in_step;
      unsigned char* out = r.out + s * r.out_step;
      const float* scale = r.table.scale + k * r.entry_step;
      const std::int32_t* offset = r.table.offset + k * r.entry_step;
      for (std::size_t i = 0; i < r.n; ++i) {
        const std::size_t at = Of == Entry::row ? 0 : Of == Entry::block ? i >> r.shift : i;
        const std::int32_t some = T::takes_offsets && r.how.offsets ? offset[at] : 0;
        K::template put_one<Arch>(
            out, i, T::template one<Arch>(S::template one<Arch>(in, i), scale[at], some));
      }
    }
  }
  static constexpr typename Kernel<Arch>::Function constant = &rows<Entry::row>,
                                                   per_lane = &rows<Entry::element>;
  template <std::size_t Grain>
  static constexpr typename Kernel<Arch>::Function per_grain =
      Grain == block<Arch> ? &rows<Entry::block> : nullptr;
};

#if TQ_HAS_SIMD

/// By blocks.
template <class Arch, class S, class T, class K>
requires(!std::is_same_v<Arch, arch::scalar>) struct loops<Arch, S, T, K> {
  static constexpr std::size_t step = block<Arch>;
  static constexpr std::size_t in_bytes = bytes_of<S::bits>(step),
                               out_bytes = bytes_of<K::bits>(step);

  template <bool Offsets, bool Stream, class P>
  static TQ_FORCE_INLINE void one_block(const unsigned char* in, unsigned char* out, const P& p,
                                        std::size_t i) noexcept {
    typename S::template registers<Arch> v[4];
    arch::floats<Arch> made[4];
    S::template load<Arch>(in, v);
    TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) made[k] =
        T::template lanes<Arch, Offsets>(v[k], p, i, k);
    K::template put<Arch, Stream>(out, made);
  }

  // The n elements from element i on, less than a block: the same on padded copies.
  template <bool Offsets, bool Stream, class P>
  static TQ_NO_INLINE void part(const unsigned char* in, unsigned char* out, std::size_t i,
                                std::size_t n, const P& p) noexcept {
    alignas(64) unsigned char from[in_bytes] = {}, to[out_bytes];
    std::memcpy(from, in + byte_at<S::bits>(i), bytes_of<S::bits>(n));
    one_block<Offsets, false>(from, to, p, i);
    put_bytes<Arch, Stream>(out + byte_at<K::bits>(i), to, bytes_of<K::bits>(n));
  }

  static TQ_FORCE_INLINE void ask(const unsigned char* in, const unsigned char* out,
                                  const How& how) noexcept {
    if (how.lines != 0)
      TQ_UNROLL for (std::size_t b = 0; b < in_bytes; b += 64)
          arch::prefetch<true>(in, how.lines + static_cast<std::ptrdiff_t>(b));
    if (how.pages != 0 && reinterpret_cast<std::uintptr_t>(in) % arch::page_bytes < in_bytes)
      arch::prefetch<true>(in, how.pages);
    if (how.written_pages != 0 &&
        reinterpret_cast<std::uintptr_t>(out) % arch::page_bytes < out_bytes)
      arch::prefetch<true>(out, how.written_pages);
  }

  // A row past the cache.
  template <bool Offsets, class P>
  static TQ_FORCE_INLINE void streamed_row(const unsigned char* in, unsigned char* out,
                                           std::size_t n, const P& p, const How& how) noexcept {
    std::size_t i = 0;
    if (how.shifted) {
      const std::size_t head = elements_to_alignment<Arch, K::bits>(out);
      if (head % elements_of_whole_bytes<S::bits> != 0)
        return cached_row<Offsets>(in, out, n, p);  // would cut a byte
      i = std::min(head, n);
      if (i != 0) part<Offsets, false>(in, out, 0, i, p);
    }
    for (; i + step <= n; i += step) {
      const unsigned char* from = in + byte_at<S::bits>(i);
      unsigned char* to = out + byte_at<K::bits>(i);
      ask(from, to, how);
      one_block<Offsets, true>(from, to, p, i);
    }
    if (i < n) part<Offsets, true>(in, out, i, n - i, p);
  }

  // A row into the cache. The last block does some elements again, which is faster than a copy of a
  // part.
  template <bool Offsets, class P>
  static TQ_FORCE_INLINE void cached_row(const unsigned char* in, unsigned char* out, std::size_t n,
                                         const P& p) noexcept {
    constexpr std::size_t grain = std::max(
        P::grain, std::max(elements_of_whole_bytes<S::bits>, elements_of_whole_bytes<K::bits>));
    const std::size_t reach = n / grain * grain;
    std::size_t i = 0;
    for (; i + step <= n; i += step)
      one_block<Offsets, false>(in + byte_at<S::bits>(i), out + byte_at<K::bits>(i), p, i);
    if (i < reach && reach >= step) {
      i = reach - step;
      one_block<Offsets, false>(in + byte_at<S::bits>(i), out + byte_at<K::bits>(i), p, i);
      i = reach;
    }
    if (i < n) part<Offsets, false>(in, out, i, n - i, p);
  }

  // One function for a form, out of line, and in it three loops: what is streamed comes from
  // memory, where looking at a flag costs nothing.
  template <class P>
  static TQ_NO_INLINE void rows(const Rows<Arch>& r) noexcept {
    const Rows<Arch> at = r;  // copies, so that stores cannot alias them
    const How how = r.how;
    const auto each = [&](auto&& row) TQ_LAMBDA_INLINE {
      const unsigned char* in = at.in;
      unsigned char* out = at.out;
      for (std::size_t k = 0; k < at.count; ++k, in += at.in_step, out += at.out_step)
        row(in, out, P(at.table, k * at.entry_step, at.shift));
    };
    if (how.streams)
      each([&](const unsigned char* in, unsigned char* out, const P& p)
               TQ_LAMBDA_INLINE { streamed_row<T::takes_offsets>(in, out, at.n, p, how); });
    else if (T::takes_offsets && how.offsets)
      each([&](const unsigned char* in, unsigned char* out, const P& p)
               TQ_LAMBDA_INLINE { cached_row<T::takes_offsets>(in, out, at.n, p); });
    else
      each([&](const unsigned char* in, unsigned char* out, const P& p)
               TQ_LAMBDA_INLINE { cached_row<false>(in, out, at.n, p); });
  }

  static constexpr typename Kernel<Arch>::Function constant = &rows<Constant<Arch>>,
                                                   per_lane = &rows<PerLane<Arch>>;
  template <std::size_t Grain>
  static constexpr typename Kernel<Arch>::Function per_grain = [] {
    if constexpr (Grain < least_grain<Arch>) return nullptr;
    else if constexpr (Grain == block<Arch>) return &rows<PerBlock<Arch>>;
    else return &rows<PerGrain<Arch, Grain>>;
  }();
};

#endif

}  // namespace detail

/// The kernel that reads by S, goes through T and writes by K.
template <class Arch, class S, Stage T, class K>
requires Source<S, Arch> && Sink<K, Arch>
inline constexpr Kernel<Arch> kernel = [] {
  using L = detail::loops<Arch, S, T, K>;
  constexpr std::size_t n = block<Arch>;
  Kernel<Arch> k{
      L::constant,
      {L::template per_grain<n>, L::template per_grain<n / 2>, L::template per_grain<n / 4>},
      L::per_lane,
      S::bits,
      K::bits,
      T::takes_offsets};
  if constexpr (requires { typename S::unpacked; }) {
    k.unpacked = &kernel<Arch, typename S::unpacked, T, K>;
    k.unpack = &S::template unpack<Arch>;
  }
  return k;
}();

}  // namespace tq::driver

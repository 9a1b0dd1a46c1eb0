// SPDX-License-Identifier: MIT
#pragma once
// float32 -> integer codes, one code per element or packed to 4 or 2 bits on the way out.

#include <tq/arch/cpu.hpp>
#include <tq/arch/lanes.hpp>
#include <tq/kernels/args.hpp>
#include <tq/kernels/blocks.hpp>
#include <tq/kernels/early.hpp>
#include <tq/kernels/grid.hpp>
#include <tq/kernels/params.hpp>
#include <tq/kernels/pieces.hpp>
#include <tq/kernels/reference.hpp>
#include <tq/kernels/stream.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tq::kernels {

/// quantize<Arch, Code, N>::run fills `out` with one Code per element; pack<Bits> (4 or 2, 8-bit codes
/// only) with Bits per element, first element lowest. `index` is the element index of the first element.
/// Preconditions of pack: the stretches are contiguous, and unless there is only one, their length is a
/// multiple of 8 / Bits.
template <class Arch, class Code, NumericsPolicy N>
struct quantize;

namespace detail {
// Element by element. Arch is in the name, not in the code: one symbol per instruction set.
template <class Arch, class Code, NumericsPolicy N>
struct quantize_elements {
  static void run(const float* x, Code* out, const Span& span, Codes codes, const N& n, std::uint64_t index,
                  bool) noexcept {
    static_assert(sizeof(Code) <= 4);
    for_each_element(span, [&](std::ptrdiff_t s, std::ptrdiff_t t, float scale, std::int32_t zero) TQ_LAMBDA_INLINE {
      const reference::Slot slot{scale, zero, codes.min, codes.max};
      const std::uint64_t at = index + static_cast<std::uint64_t>(t);
      if constexpr (sizeof(Code) > 2) out[t] = reference::quantize_wide(x[s], slot, n, at);
      else out[t] = static_cast<Code>(reference::quantize(x[s], slot, n, at));
    });
  }

  template <int Bits>
  static void pack(const float* x, unsigned char* out, const Span& span, Codes codes, const N& n,
                   std::uint64_t index, bool) noexcept {
    constexpr std::size_t per_byte = 8 / Bits;
    std::memset(out, 0, (span.length * span.count + per_byte - 1) / per_byte);
    for_each_element(span, [&](std::ptrdiff_t s, std::ptrdiff_t t, float scale, std::int32_t zero)
                               TQ_LAMBDA_INLINE {
                                 const auto at = static_cast<std::size_t>(t);
                                 const std::int32_t code =
                                     reference::quantize(x[s], {scale, zero, codes.min, codes.max}, n, index + at);
                                 const unsigned field = static_cast<unsigned>(code) & ((1u << Bits) - 1u);
                                 out[at / per_byte] = static_cast<unsigned char>(out[at / per_byte] |
                                                                                 field << at % per_byte * Bits);
                               });
  }
};
}  // namespace detail

/// Without SIMD.
template <class Code, NumericsPolicy N>
struct quantize<arch::scalar, Code, N> : detail::quantize_elements<arch::scalar, Code, N> {};

/// Codes of 32 bits, which are few: biases.
template <class Arch, class Code, NumericsPolicy N>
  requires(sizeof(Code) > 2)
struct quantize<Arch, Code, N> : detail::quantize_elements<Arch, Code, N> {};

#if TQ_HAS_SIMD

template <class Arch, class Code, NumericsPolicy N>
struct quantize {
  template <class S = Span, class Streaming = bool>
  static void run(const float* x, Code* out, const S& span, Codes codes, const N& n, std::uint64_t index,
                  Streaming streaming) noexcept {
    if (span.length == 1 && (span.source_stride != 1 || span.target_stride != 1)) {
      detail::quantize_elements<Arch, Code, N>::run(x, out, span, codes, n, index, false);  // no neighbours
      return;
    }
    // One parameter for all may have its zero point added even if it has none, and is 0.
    constexpr bool may_add = wide && detail::shared_of<S> == one_parameter && detail::zeros_of<S> == Zeros::none;
    constexpr Zeros zeros = may_add ? Zeros::unknown : detail::zeros_of<S>;
    const bool adds = span.zero_point != nullptr || (may_add && arch::adds_zero_faster());
    for_each_piece<Arch, true, splits, needs_correctable(fast_q)>(
        span, nullptr, [&](const Stretches& at, const auto& params, bool correctable) TQ_LAMBDA_INLINE {
          pieces<8 * sizeof(Code), zeros>(x, reinterpret_cast<unsigned char*>(out), at, params, correctable, codes, n, index,
                                          streaming, adds, span.next);
        }, streaming);
  }

  template <int Bits, class S = Span, class Streaming = bool>
  static void pack(const float* x, unsigned char* out, const S& span, Codes codes, const N& n,
                   std::uint64_t index, Streaming streaming) noexcept {
    for_each_piece<Arch, true, splits, needs_correctable(fast_q)>(
        span, nullptr, [&](const Stretches& at, const auto& params, bool correctable) TQ_LAMBDA_INLINE {
          pieces<Bits, detail::zeros_of<S>>(x, out, at, params, correctable, codes, n, index, streaming,
                                            span.zero_point != nullptr, span.next);
        }, streaming);
  }

 private:
  using L = arch::lanes<Arch>;
  using F = arch::floats<Arch>;
  using I = arch::ints<Arch>;
  static constexpr std::size_t width = arch::width<Arch>, block = 4 * width;
  static constexpr bool is_signed = std::is_signed_v<Code>;
  static constexpr bool small = sizeof(Code) == 1;
  static constexpr bool wide = width >= 16;  // 512 bits, where data from the second cache are what takes time, not instructions
  static constexpr Quotient fast_q = fast_converted_quotient<Arch, N>;
  static constexpr bool splits = fast_q == Quotient::split;

  template <int Bits>
  static constexpr std::size_t bytes_of(std::size_t n) noexcept {
    return (n * std::size_t{Bits} + 7) / 8;
  }

  struct Bounds {
    typename L::bytes lo, hi;
    bool full;
    typename L::words lowest = arch::kept(L::splat16(-32768));
    typename L::bytes lowest_byte = arch::kept(L::splat8(-128));
  };

  // One block without any shortcut, into an array of codes.
  template <class Params>
  static TQ_FORCE_INLINE void general_block(const float* x, Code* out, const Params& p, std::size_t i, Codes codes,
                                            const N& n, std::uint64_t index) noexcept {
    I v[4];
    TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) {
      v[k] = grid_value<Arch>(F::load_unaligned(x + k * width), p, i, k, codes, n, index + k * width) + p.zero(i, k);
    }
    if constexpr (small) {
      L::store8(out, L::template pack8<is_signed>(L::pack16(v[0], v[1]), L::pack16(v[2], v[3])));
    } else {
      typename L::bytes w[2];
      L::template narrow16<is_signed>(v, w);
      put<Arch, false>(reinterpret_cast<unsigned char*>(out), w);
    }
  }

  // The same out of line, for the rare block with NaN, infinities or values far outside the range.
  static TQ_RARE void rare_block(const float* x, Code* out, const float* scale, const std::int32_t* zero,
                                      Codes codes, const N& n) noexcept {
    alignas(64) float inverse[block];
    for (std::size_t k = 0; k < block; k += width)
      arch::divide<Arch>(F(1.0f), F::load_aligned(scale + k)).store_aligned(inverse + k);
    general_block(x, out, PerLane<Arch>{scale, inverse, nullptr, zero}, 0, codes, n, 0);
  }
  template <class Params>
  static TQ_FORCE_INLINE typename L::bytes rare(const float* x, const Params& p, std::size_t i, Codes codes,
                                                const N& n) noexcept {
    alignas(64) float scale[block];
    alignas(64) std::int32_t zero[block];
    alignas(64) Code out[block];
    TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) {
      F(p.scale(i, k)).store_aligned(scale + k * width);
      I(p.zero(i, k)).store_aligned(zero + k * width);
    }
    rare_block(x, out, scale, zero, codes, n);
    return L::load8(out);
  }

  template <int Bits, bool Stream>
  static TQ_FORCE_INLINE void put_block(unsigned char* out, typename L::bytes c) noexcept {
    if constexpr (Bits == 4)
      L::store4(out, c);
    else if constexpr (Bits == 2)
      L::store2(out, c);
    else
      put<Arch, Stream>(out, c);
  }

  // One block, two or four. Rounds without clamping first: int32 -> int16 -> int8 saturate, so only NaN and values of
  // magnitude beyond 2^15 need care, and all of those (that are not simply large) show up as -32768. `Folds`: what multiplies
  // a value loads it.
  template <int Bits, Quotient Q, bool Zero, bool Stream, bool Folds, std::size_t Blocks, class Params>
  static TQ_FORCE_INLINE void fast_blocks(const float* x, unsigned char* out, Params& p, std::size_t i, Codes codes,
                                          const Bounds& bounds, const N& n) noexcept {
    constexpr std::size_t bytes = block * Bits / 8;
    typename L::words w[2 * Blocks];
    TQ_UNROLL for (std::size_t b = 0; b < Blocks; ++b) {
      p.prepare(i + b * block);
      I v[4];
      TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) {
        const float* in = x + b * block + k * width;
        const F value = Folds ? F::load_unaligned(in) : arch::load_in_order<Arch>(in);
        v[k] = arch::round_to_int<Arch>(quotient<Q, Arch>(value, p, i + b * block, k));
      }
      w[2 * b] = L::pack16(v[0], v[1]);
      w[2 * b + 1] = L::pack16(v[2], v[3]);
    }
    typename L::bytes c[Blocks];
    const auto narrow = [&]() TQ_LAMBDA_INLINE {
      TQ_UNROLL for (std::size_t b = 0; b < Blocks; ++b) {
        typename L::words v[2] = {w[2 * b], w[2 * b + 1]};
        if constexpr (Zero)
          for (std::size_t k = 0; k < 2; ++k) v[k] = L::add16(v[k], p.zero16(i + b * block, 2 * k));
        c[b] = L::template narrow8<is_signed>(v[0], v[1]);
      }
    };
    const auto any_lowest = [&]() TQ_LAMBDA_INLINE {
      typename L::words least = w[0];
      TQ_UNROLL for (std::size_t k = 1; k < 2 * Blocks - 1; ++k) least = L::min16(least, w[k]);
      return L::lowest16(least, w[2 * Blocks - 1], bounds.lowest);
    };
    bool is_rare;
    if constexpr (is_signed && Bits < 8) {  // far outside a range this short all of the lowest bytes are: fewer to look at first
      narrow();
      typename L::bytes least = c[0];
      if constexpr (Blocks > 2)
        TQ_UNROLL for (std::size_t b = 1; b < Blocks - 1; ++b) least = L::min8(least, c[b]);
      is_rare = L::lowest8(least, c[Blocks - 1], bounds.lowest_byte) && any_lowest();
    } else {
      is_rare = any_lowest();
    }
    if (is_rare) [[unlikely]] {
      TQ_UNROLL for (std::size_t b = 0; b < Blocks; ++b)
        put_block<Bits, Stream>(out + b * bytes, rare(x + b * block, p, i + b * block, codes, n));
      return;
    }
    if constexpr (!is_signed || Bits == 8) narrow();
    TQ_UNROLL for (std::size_t b = 0; b < Blocks; ++b)
      if (Bits < 8 || !bounds.full) c[b] = L::template clamp8<is_signed>(c[b], bounds.lo, bounds.hi);
    if constexpr (Bits == 4 && Blocks > 1)
      TQ_UNROLL for (std::size_t b = 0; b < Blocks; b += 2)
        put<Arch, Stream>(out + b * bytes, L::pack4x2(c[b], c[b + 1]));
    else
      TQ_UNROLL for (std::size_t b = 0; b < Blocks; ++b) put_block<Bits, Stream>(out + b * bytes, L::order8(c[b]));
  }

  // Part of a block: same instructions on a padded copy, so the last elements round the same way.
  template <int Bits, bool Stream, class Block>
  static TQ_FORCE_INLINE void part(const float* x, unsigned char* out, std::size_t n, Block&& one) noexcept {
    alignas(64) float in[block] = {};
    alignas(64) Code codes[block];
    std::memcpy(in, x, n * sizeof(float));
    one(in, codes);
    if constexpr (Bits == 8 * sizeof(Code)) {
      put_bytes<Arch, Stream>(out, codes, n * sizeof(Code));
    } else {
      unsigned char packed[block];
      std::memset(codes + n, 0, block - n);  // unused bits are zero
      put_block<Bits, false>(packed, L::load8(codes));
      put_bytes<Arch, Stream>(out, packed, bytes_of<Bits>(n));
    }
  }

  template <int Bits, Quotient Q, bool Zero, bool Stream, bool Folds, class Params>
  static TQ_FORCE_INLINE void fast(const float* x, unsigned char* out, std::size_t count, const Params& params,
                                   Codes codes, const Bounds& bounds, const N& n, [[maybe_unused]] const Early& early,
                                   [[maybe_unused]] std::ptrdiff_t next, [[maybe_unused]] bool shifted) noexcept {
    Params p = params;
    std::size_t i = 0;
    if constexpr (Stream && Params::shifts) {
      const std::size_t head = shifted ? elements_to_alignment<Arch, Bits>(out) : 0;
      while (i < head && i < count) {
        const std::size_t some = detail::at_most(detail::at_most(head, count) - i, block);
        part<Bits, false>(x + i, out + byte_of<Bits>(i), some, [&](const float* in, Code* to)
                                                            TQ_LAMBDA_INLINE { L::store8(to, rare(in, p, i, codes, n)); });
        i += some;
      }
    }
    const auto blocks = [&]<std::size_t Blocks>(std::integral_constant<std::size_t, Blocks>) TQ_LAMBDA_INLINE {
      return [&](std::size_t at) TQ_LAMBDA_INLINE {
        if constexpr (Stream) {
          early.ask<Blocks * block, Blocks * block * Bits / 8>(x + at, out + byte_of<Bits>(at));
          if (next != 0) ask_for<Blocks * block, false>(x + at, next);
        }
        fast_blocks<Bits, Q, Zero, Stream, Folds, Blocks>(x + at, out + byte_of<Bits>(at), p, at, codes, bounds, n);
      };
    };
    constexpr std::integral_constant<std::size_t, 1> one;
    constexpr std::integral_constant<std::size_t, 2> two;
    constexpr std::integral_constant<std::size_t, 4> four;
    if constexpr (Stream && Params::shifts)
      if (arch::reads_pages_side_by_side()) i = for_each_block_side_by_side<2 * block>(i, count, blocks(two));
    // One store at a time past the cache, two into it. Four blocks whose loads are folded take a quarter longer (Zen 5).
    if constexpr (!Stream && Bits == 4 && wide && !Folds) i = for_each_block<4 * block>(i, count, blocks(four));
    if constexpr (!Stream || Bits != 8) i = for_each_block<2 * block>(i, count, blocks(two));
    if constexpr (Stream) i = for_each_block<block>(i, count, blocks(one));
    else i = for_each_block_to_end<block, Bits>(i, count, blocks(one));
    if (i < count)
      part<Bits, Stream>(x + i, out + byte_of<Bits>(i), count - i, [&](const float* in, Code* to) TQ_LAMBDA_INLINE {
        fast_blocks<8, Q, Zero, false, Folds, 1>(in, reinterpret_cast<unsigned char*>(to), p, i, codes, bounds, n);
      });
  }

  // Any numerics, any scale. `Rare`: the blocks are calls, where speed does not matter.
  template <int Bits, bool Rare, class Params>
  static TQ_FORCE_INLINE void general(const float* x, unsigned char* out, std::size_t count, const Params& params,
                                      Codes codes, const N& n, std::uint64_t index) noexcept {
    Params p = params;
    std::size_t i = 0;
    const auto one = [&](const float* in, Code* to) TQ_LAMBDA_INLINE {
      if constexpr (Rare)
        L::store8(to, rare(in, p, i, codes, n));
      else
        general_block(in, to, p, i, codes, n, index + i);
    };
    if constexpr (!Rare && Bits == 8 * sizeof(Code)) {
      const auto at_block = [&](std::size_t at) TQ_LAMBDA_INLINE {
        i = at;
        p.prepare(i);
        one(x + i, reinterpret_cast<Code*>(out) + i);
      };
      i = for_each_block_to_end<block, Bits>(0, count, at_block);
    }
    for (; i < count; i += block) {
      p.prepare(i);
      part<Bits, false>(x + i, out + byte_of<Bits>(i), count - i < block ? count - i : block, one);
    }
  }

  // Out of line, once per form of parameters. They are copied, so that stores cannot alias them.
  template <int Bits, Zeros Z, class Params, class Streaming>
  static TQ_NO_INLINE void pieces(const float* x, unsigned char* out, const Stretches& stretches,
                                  const Params& params, bool correctable, Codes codes, const N& n,
                                  std::uint64_t index, Streaming streaming, bool has_zero, std::ptrdiff_t next) noexcept {
    Params p = params;
    const Stretches at = stretches;
    const auto each = [&](auto&& piece) TQ_LAMBDA_INLINE {
      at.each([&](std::size_t r, std::ptrdiff_t from, std::ptrdiff_t to) TQ_LAMBDA_INLINE {
        piece(x + from, out + byte_of<Bits>(to), p.at(r), index + static_cast<std::uint64_t>(to));
      });
    };
    if constexpr (small && has_fast_path<N>) {
      constexpr Quotient q = quotient_with<Params>(fast_q);
      if (!needs_correctable(q) || correctable) {
        const Bounds bounds{L::splat8(codes.min), L::splat8(codes.max),
                            codes.min == (is_signed ? -128 : 0) && codes.max == (is_signed ? 127 : 255)};
        const Writes how = writes<Arch, Params, Bits>(streaming, out, at);
        const auto go = [&]<bool Zero, bool Stream>(std::bool_constant<Zero>,
                                                    std::bool_constant<Stream>) TQ_LAMBDA_INLINE {
          // A multiplication may load the value itself, unless it loads the reciprocal. With 512 bits rows in the caches are
          // slower then.
          constexpr bool may_fold = q == Quotient::multiply && !std::is_same_v<Params, PerLane<Arch>> && !spreads<Arch, Params>;
          constexpr bool folds = may_fold && (Stream || !wide || std::is_same_v<Params, ForAll<Arch>>);
          const Early early = Early::where<Stream>(at.source_is_dense() && next == 0);
          const std::ptrdiff_t next_part = Stream && !arch::reads_pages_side_by_side() ? next : 0;
          each([&](const float* in, unsigned char* to, const auto& row, std::uint64_t) TQ_LAMBDA_INLINE {
            fast<Bits, q, Zero, Stream, folds>(in, to, at.length, row, codes, bounds, n, early, next_part, how == Writes::shifted);
          });
        };
        constexpr bool streams = Bits != 2 && may_stream<Streaming>;
        // From memory, rows of whole bytes take a fifth less if they add zero points, 0 where there are none (Zen 5).
        constexpr bool adds = streams && Bits == 8 && wide && std::is_same_v<std::remove_cvref_t<decltype(p.at(0))>, Constant<Arch>>;
        if constexpr (adds)
          if (how != Writes::cached) return go(std::true_type{}, std::true_type{});
        with_flags<streams && !adds, Z>(has_zero, how != Writes::cached, go);
        return;
      }
    }
    each([&](const float* in, unsigned char* to, const auto& row, std::uint64_t first) TQ_LAMBDA_INLINE {
      general<Bits, small && has_fast_path<N>>(in, to, at.length, row, codes, n, first);
    });
  }
};

#endif

}  // namespace tq::kernels

// SPDX-License-Identifier: MIT
#pragma once
// float32 -> codes of a number format (small floats, code books), one code per element or packed to 4 bits.

#include <tq/arch/lanes.hpp>
#include <tq/kernels/args.hpp>
#include <tq/kernels/blocks.hpp>
#include <tq/kernels/codec.hpp>
#include <tq/kernels/early.hpp>
#include <tq/kernels/grid.hpp>
#include <tq/kernels/params.hpp>
#include <tq/kernels/pieces.hpp>
#include <tq/kernels/reference.hpp>
#include <tq/kernels/stream.hpp>
#include <tq/kernels/values.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tq::kernels {

/// encode<Arch, F, N>::run fills `out` with one code per element; pack4 (formats of 4 bits) with two per byte, the first
/// one lowest. `index` is the element index of the first element. Zero points are not used.
/// Preconditions of pack4: the stretches are contiguous, and unless there is only one, their length is even.
template <class Arch, ValueFormat F, NumericsPolicy N>
struct encode;

namespace detail {
// Element by element. Arch is in the name, not in the code: one symbol per instruction set.
template <class Arch, ValueFormat F, NumericsPolicy N>
struct encode_elements {
  using Code = format_code<F>;
  static void run(const float* x, Code* out, const Span& span, const N& n, std::uint64_t index, bool) noexcept {
    for_each_element(span, [&](std::ptrdiff_t s, std::ptrdiff_t t, float scale, std::int32_t) TQ_LAMBDA_INLINE {
      out[t] = static_cast<Code>(reference::encode<F>(x[s], scale, n, index + static_cast<std::uint64_t>(t)));
    });
  }
  static void pack4(const float* x, unsigned char* out, const Span& span, const N& n, std::uint64_t index,
                    bool) noexcept {
    std::memset(out, 0, (span.length * span.count + 1) / 2);
    for_each_element(span, [&](std::ptrdiff_t s, std::ptrdiff_t t, float scale, std::int32_t) TQ_LAMBDA_INLINE {
      const auto at = static_cast<std::size_t>(t);
      const std::uint32_t code = reference::encode<F>(x[s], scale, n, index + at);
      out[at / 2] = static_cast<unsigned char>(out[at / 2] | code << at % 2 * 4);
    });
  }
};

// What a format's codes depend on near a tie: with at most 7 mantissa bits the ties are half-integers below 256 times a
// power of two, for which the corrected and the split quotient are proven (params.hpp): nothing underflows near those
// that are not too small, and quotients up to 2^20 are not clamped anywhere.
template <class F>
inline constexpr bool has_short_ties = false;
template <int Exponent, int Mantissa, int Bias, FloatSpecials Specials>
  requires(Mantissa <= 7 && Bias < 32 && FloatFormat<Exponent, Mantissa, Bias, Specials>::max_finite < 0x1p20f)
inline constexpr bool has_short_ties<FloatFormat<Exponent, Mantissa, Bias, Specials>> = true;
template <int Bits, int Fraction>
  requires(Bits <= 8)
inline constexpr bool has_short_ties<FixedFormat<Bits, Fraction>> = true;
}  // namespace detail

/// Without SIMD.
template <ValueFormat F, NumericsPolicy N>
struct encode<arch::scalar, F, N> : detail::encode_elements<arch::scalar, F, N> {};

#if TQ_HAS_SIMD

template <class Arch, ValueFormat F, NumericsPolicy N>
struct encode {
  using Code = format_code<F>;

  template <class S = Span, class Streaming = bool>
  static void run(const float* x, Code* out, const S& span, const N& n, std::uint64_t index,
                  Streaming streaming) noexcept {
    each_piece<8 * sizeof(Code)>(x, reinterpret_cast<unsigned char*>(out), span, n, index, streaming);
  }

  template <class S = Span, class Streaming = bool>
  static void pack4(const float* x, unsigned char* out, const S& span, const N& n, std::uint64_t index,
                    Streaming streaming) noexcept {
    each_piece<4>(x, out, span, n, index, streaming);
  }

 private:
  using L = arch::lanes<Arch>;
  using floats = arch::floats<Arch>;
  using ints = arch::ints<Arch>;
  using O = typename N::overflow_type;
  static constexpr std::size_t width = arch::width<Arch>, block = 4 * width;
  static constexpr bool small = sizeof(Code) == 1;
  static constexpr bool nearest = std::same_as<typename N::rounding_type, NearestEven>;
  static constexpr bool batched = (nearest || codec<Arch, F>::rounds) && has_known_scaling<N>;
  static constexpr bool exact = std::same_as<typename N::scaling_type, PowerOfTwo>;
  // Of these only the magnitude of x / s is of interest, which is infinite where a product overflows.
  static constexpr bool signs_of_x = nearest && codec<Arch, F>::takes_signs;
  static constexpr Quotient method = exact || std::same_as<typename N::scaling_type, Reciprocal> ? Quotient::multiply
                                     : !(L::has_fma && nearest && detail::has_short_ties<F>)     ? Quotient::divide
                                     : signs_of_x                                                ? Quotient::split
                                                                                                 : Quotient::corrected;

  template <int Bits, class S, class Streaming>
  static void each_piece(const float* x, unsigned char* out, const S& span, const N& n,
                                         std::uint64_t index, Streaming streaming) noexcept {
    if (!batched || (span.length == 1 && (span.source_stride != 1 || span.target_stride != 1))) {
      if constexpr (Bits == 4) detail::encode_elements<Arch, F, N>::pack4(x, out, span, n, index, false);
      else detail::encode_elements<Arch, F, N>::run(x, reinterpret_cast<Code*>(out), span, n, index, false);
      return;
    }
    if constexpr (batched && !exact) {
      // A scale of 0, or far from 1, costs speed: only where it is, so stretch by stretch.
      if (span.step == 0 && span.count > 1 && span.param_stride != 0 &&
          !detail::all_correctable<Arch>(span.scale, span.count, span.param_stride)) {
        for (std::size_t r = 0; r < span.count; ++r) {
          S one = span;
          one.count = 1;
          one.scale += r * span.param_stride;
          const auto k = static_cast<std::ptrdiff_t>(r);
          each_piece<Bits>(x + k * span.source_stride, out + byte_of<Bits>(k * span.target_stride), one, n,
                           index + static_cast<std::uint64_t>(k * span.target_stride), Streaming{});
        }
        return;
      }
    }
    if constexpr (batched)
      for_each_piece<Arch, true, method == Quotient::split>(
          span, nullptr, [&](const Stretches& at, const auto& params, bool correctable) TQ_LAMBDA_INLINE {
            pieces<Bits>(x, out, at, params, correctable || exact, n, index, streaming);
          }, streaming);
  }

  // Element by element into an array of codes, for the rare block with NaN or an unusual scale.
  static TQ_RARE void rare_block(const float* x, Code* out, const float* scale, const N& n,
                                      std::uint64_t index) noexcept {
    for (std::size_t i = 0; i < block; ++i)
      out[i] = static_cast<Code>(reference::encode<F>(x[i], scale[i], n, index + i));
  }

  // One block, its codes to `out`.
  template <int Bits, bool Fast, bool Stream, class Params>
  static TQ_FORCE_INLINE void one(const float* x, unsigned char* out, const Params& p, std::size_t i, const N& n,
                                  std::uint64_t index) noexcept {
    if constexpr (Fast) {
      floats in[4], v[4];
      TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) {
        in[k] = floats::load_unaligned(x + k * width);
        v[k] = quotient<quotient_with<Params>(method), Arch>(in[k], p, i, k);
      }
      if constexpr (nearest && is_bfloat16<F> && L::has_bfloat16) {
        typename L::bytes w[2];
        if (L::to_bfloat16(v, w)) [[likely]] {
          put<Arch, Stream>(out, w);
          return;
        }
      }
      if (!L::any_nan(v[0], v[1], v[2], v[3])) [[likely]] {
        put_values<Bits, Stream>(out, v, in, n, index);
        return;
      }
    }
    alignas(64) float scale[block];
    alignas(64) Code codes[block];
    TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) floats(p.scale(i, k)).store_aligned(scale + k * width);
    rare_block(x, codes, scale, n, index);
    if constexpr (Bits == 4) L::store4(out, L::load8(codes));
    else std::memcpy(out, codes, sizeof(codes));
  }

  template <int Bits, bool Stream>
  static TQ_FORCE_INLINE void put_values(unsigned char* out, floats (&v)[4], const floats (&x)[4], const N& n,
                                  std::uint64_t index) noexcept {
    constexpr bool by_half = nearest && is_half<F> && L::has_half;
    if constexpr (by_half)
      if constexpr (F::template saturates<O>)
        TQ_UNROLL for (floats& f : v) f = arch::clamp<Arch>(f, floats(-F::max_finite), floats(F::max_finite));
    if constexpr (by_half) {
      L::template store_half<Stream>(out, v);
    } else {
      ints code[4];
      TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) {
        if constexpr (signs_of_x) code[k] = codec<Arch, F>::template encode<O>(v[k], x[k]);
        else if constexpr (nearest) code[k] = codec<Arch, F>::template encode<O>(v[k]);
        else code[k] = codec<Arch, F>::template encode<O>(v[k], n.rounding, index + k * width);
      }
      if constexpr (!small) {
        typename L::bytes w[2];
        L::template narrow16<false>(code, w);
        put<Arch, Stream>(out, w);
      } else {
        const auto bytes = L::template pack8<false>(L::pack16(code[0], code[1]), L::pack16(code[2], code[3]));
        if constexpr (Bits == 4) L::store4(out, bytes);
        else put<Arch, Stream>(out, bytes);
      }
    }
  }

  // Part of a block: the same instructions on a padded copy.
  template <int Bits, bool Fast, bool Stream, class Params>
  static TQ_FORCE_INLINE void part(const float* x, unsigned char* out, std::size_t count, const Params& p,
                                   std::size_t i, const N& n, std::uint64_t index) noexcept {
    alignas(64) float in[block] = {};
    alignas(64) unsigned char to[block * sizeof(Code)];
    std::memcpy(in, x, count * sizeof(float));
    one<8 * sizeof(Code), Fast, false>(in, to, p, i, n, index);
    if constexpr (Bits == 4) {
      unsigned char packed[block];
      std::memset(to + count, 0, block - count);  // unused bits are zero
      L::store4(packed, L::load8(to));
      std::memcpy(out, packed, (count + 1) / 2);
    } else {
      put_bytes<Arch, Stream>(out, to, count * sizeof(Code));
    }
  }

  template <int Bits, bool Fast, bool Stream, class Params>
  static TQ_FORCE_INLINE void row(const float* x, unsigned char* out, std::size_t count, const Params& params,
                                  const N& n, std::uint64_t index, [[maybe_unused]] const Early& early,
                                  [[maybe_unused]] bool shifted) noexcept {
    Params p = params;
    std::size_t i = 0;
    if constexpr (Stream && Params::shifts) {
      const std::size_t head = shifted ? elements_to_alignment<Arch, Bits>(out) : 0;
      i = head < count ? head : count;
      if (i != 0) part<Bits, Fast, false>(x, out, i, p, 0, n, index);
    }
    for (; i + block <= count; i += block) {
      if constexpr (Stream) early.ask<block, block * Bits / 8>(x + i, out + byte_of<Bits>(i));
      p.prepare(i);
      one<Bits, Fast, Stream>(x + i, out + byte_of<Bits>(i), p, i, n, index + i);
    }
    if (i < count) {
      p.prepare(i);
      part<Bits, Fast, Stream>(x + i, out + byte_of<Bits>(i), count - i, p, i, n, index + i);
    }
  }

  // Out of line, once per form of parameters. They are copied, so that stores cannot alias them.
  template <int Bits, class Params, class Streaming>
  static TQ_NO_INLINE void pieces(const float* x, unsigned char* out, const Stretches& stretches, const Params& params,
                                  bool fast, const N& n, std::uint64_t index, Streaming streaming) noexcept {
    Params p = params;
    const Stretches at = stretches;
    const Writes how = writes<Arch, Params, Bits>(streaming, out, at);
    const auto each = [&]<bool Fast, bool Stream>(std::bool_constant<Fast>,
                                                  std::bool_constant<Stream>) TQ_LAMBDA_INLINE {
      // Codes that take about as long to compute as to read take a tenth longer if pages are asked for alone (Zen 4).
      const Early early = Early::where<Stream>(at.source_is_dense(), Bits == 16);
      at.each([&](std::size_t r, std::ptrdiff_t from, std::ptrdiff_t to) TQ_LAMBDA_INLINE {
        row<Bits, Fast, Stream>(x + from, out + byte_of<Bits>(to), at.length, p.at(r), n,
                                index + static_cast<std::uint64_t>(to), early, how == Writes::shifted);
      });
    };
    if (!fast) {
      each(std::false_type{}, std::false_type{});
      return;
    }
    if constexpr (Bits != 4 && may_stream<Streaming>) {
      if (how != Writes::cached) {
        each(std::true_type{}, std::true_type{});
        return;
      }
    }
    each(std::true_type{}, std::false_type{});
  }
};

#endif

}  // namespace tq::kernels

// SPDX-License-Identifier: MIT
#pragma once
// float32 -> the float32 its code stands for, in one pass: dequantize(quantize(x)), bit for bit.

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

/// `index` is the element index of the first element. x and out may be the same.
template <class Arch, NumericsPolicy N>
struct fake_quantize;

namespace detail {
// Element by element. Arch is in the name, not in the code: one symbol per instruction set.
template <class Arch, NumericsPolicy N>
struct fake_quantize_elements {
  static void run(const float* x, float* out, const Span& span, Codes codes, const N& n, std::uint64_t index,
                  bool) noexcept {
    for_each_element(span, [&](std::ptrdiff_t s, std::ptrdiff_t t, float scale, std::int32_t zero)
                               TQ_LAMBDA_INLINE {
                                 const std::int32_t code =
                                     reference::quantize(x[s], {scale, zero, codes.min, codes.max}, n,
                                                         index + static_cast<std::uint64_t>(t));
                                 out[t] = reference::dequantize(code, scale, zero);
                               });
  }
};
}  // namespace detail

/// Without SIMD.
template <NumericsPolicy N>
struct fake_quantize<arch::scalar, N> : detail::fake_quantize_elements<arch::scalar, N> {};

#if TQ_HAS_SIMD

template <class Arch, NumericsPolicy N>
struct fake_quantize {
  template <class S = Span>
  static void run(const float* x, float* out, const S& span, Codes codes, const N& n, std::uint64_t index,
                  bool streaming) noexcept {
    if (span.length == 1 && (span.source_stride != 1 || span.target_stride != 1)) {
      detail::fake_quantize_elements<Arch, N>::run(x, out, span, codes, n, index, false);  // no neighbours
      return;
    }
    for_each_piece<Arch, true, fast_q == Quotient::split>(
        span, out, [&](const Stretches& at, const auto& params, bool correctable) TQ_LAMBDA_INLINE {
          with_flags<false, detail::zeros_of<S>>(span.zero_point != nullptr, false, [&](auto zero, auto) TQ_LAMBDA_INLINE {
            pieces<zero>(x, out, at, params, correctable, codes, n, index, streaming);
          });
        }, streaming);
  }

 private:
  using L = arch::lanes<Arch>;
  using F = arch::floats<Arch>;
  using I = arch::ints<Arch>;
  static constexpr std::size_t width = arch::width<Arch>, block = 4 * width;
  static constexpr Quotient fast_q = fast_clamped_quotient<Arch, N>;
  // Parameters of their own for all lanes are for quotients that are clamped: what the codes' limits stand for would be
  // two more products.
  template <class Params>
  static constexpr Quotient q_of = quotient_with<Params>(Params::per_lane ? fast_quotient<Arch, N> : fast_q);

  // One block without any shortcut.
  template <class Params>
  static TQ_FORCE_INLINE void general_block(const float* x, float* out, const Params& p, std::size_t i, Codes codes,
                                            const N& n, std::uint64_t index) noexcept {
    TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) {
      const I v = grid_value<Arch>(exact_quotient<Arch, N>(F::load_unaligned(x + k * width), p, i, k), I(p.zero(i, k)), codes, n,
                                       index + k * width);
      (xsimd::to_float(v) * p.scale(i, k)).store_unaligned(out + k * width);
    }
  }

  // The same out of line, for the rare block with NaN or infinities.
  static TQ_RARE void rare_block(const float* x, float* out, const float* scale, const float* inverse,
                                      const std::int32_t* zero, Codes codes, const N& n) noexcept {
    general_block(x, out, PerLane<Arch>{scale, inverse, nullptr, zero}, 0, codes, n, 0);
  }
  template <class Params>
  static TQ_FORCE_INLINE void rare(const float* x, float* out, const Params& p, std::size_t i, Codes codes,
                                   const N& n) noexcept {
    alignas(64) float scale[block], inverse[block];
    alignas(64) std::int32_t zero[block];
    TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) {
      F(p.scale(i, k)).store_aligned(scale + k * width);
      F(p.inverse(i, k)).store_aligned(inverse + k * width);
      I(p.zero(i, k)).store_aligned(zero + k * width);
    }
    rare_block(x, out, scale, inverse, zero, codes, n);
  }

  // Either x is clamped to what the first and the last code stand for, which round to them, so that what is divided is
  // neither infinite nor too large, or the quotient. Blocks with NaN take the long way.
  template <bool Zero, bool Stream, class Params>
  static TQ_FORCE_INLINE void fast_block(const float* x, float* out, const Params& p, std::size_t i, Codes codes,
                                         const N& n) noexcept {
    constexpr Quotient q = q_of<Params>;
    F v[4], lo[4], hi[4];
    TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) {
      v[k] = F::load_unaligned(x + k * width);
      if constexpr (Params::per_lane) v[k] = quotient<q, Arch>(v[k], p, i, k);
      const I zero = Zero ? I(p.zero(i, k)) : I(0);
      const F unit = Params::per_lane ? F(1.0f) : F(p.scale(i, k));
      lo[k] = xsimd::to_float(I(codes.min) - zero) * unit;
      hi[k] = xsimd::to_float(I(codes.max) - zero) * unit;
    }
    if (L::any_nan(v[0], v[1], v[2], v[3])) [[unlikely]] {
      rare(x, out, p, i, codes, n);
      return;
    }
    TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) {
      const F scale = p.scale(i, k);
      v[k] = arch::clamp<Arch>(v[k], lo[k], hi[k]);
      if constexpr (!Params::per_lane) v[k] = quotient<q, Arch>(v[k], p, i, k);
      if constexpr (L::has_fma)  // + 0: codes have no -0
        put<Arch, Stream>(out + k * width, L::fma(arch::round_even<Arch>(v[k]), scale, F(0.0f)));
      else
        put<Arch, Stream>(out + k * width, xsimd::to_float(arch::round_to_int<Arch>(v[k])) * scale);
    }
  }

  template <bool Stream, class Params, class Block>
  static TQ_FORCE_INLINE void blocks(const float* x, float* out, std::size_t count, [[maybe_unused]] const Early& early,
                                     [[maybe_unused]] bool shifted, Block&& one) noexcept {
    std::size_t i = 0;
    const auto part = [&]<bool Past>(std::size_t n, std::bool_constant<Past>) TQ_LAMBDA_INLINE {
      alignas(64) float in[block] = {}, to[block];
      std::memcpy(in, x + i, n * sizeof(float));
      one(in, to, i, std::false_type{});
      put_bytes<Arch, Past>(out + i, to, n * sizeof(float));
      i += n;
    };
    if constexpr (Stream && Params::shifts) {
      const std::size_t head = shifted ? elements_to_alignment<Arch, 32>(out) : 0;
      if (head != 0) part(head < count ? head : count, std::false_type{});
    }
    const auto at_block = [&](std::size_t at) TQ_LAMBDA_INLINE {
      if constexpr (Stream) early.ask<block, block * sizeof(float)>(x + at, out + at);
      one(x + at, out + at, at, std::bool_constant<Stream>{});
    };
    if constexpr (Stream && Params::shifts)
      if (arch::reads_pages_side_by_side()) i = for_each_block_side_by_side<block>(i, count, at_block);
    i = for_each_block<block>(i, count, at_block);
    if constexpr (!Stream && !spreads<Arch, Params>)  // those have whole blocks only
      if (x != out) i = last_block<block, 32>(i, count, at_block);  // else it would read what was written
    if (i < count) part(count - i, std::bool_constant<Stream>{});
  }

  // Out of line, once per form of parameters. They are copied, so that stores cannot alias them.
  template <bool Zero, class Params>
  static TQ_NO_INLINE void pieces(const float* x, float* out, const Stretches& stretches, const Params& params,
                                  bool correctable, Codes codes, const N& n, std::uint64_t index,
                                  bool streaming) noexcept {
    Params p = params;
    const Stretches at = stretches;
    const Writes how = writes<Arch, Params, 32>(streaming, out, at);
    const auto each = [&]<bool Stream>(std::bool_constant<Stream>, auto&& one) TQ_LAMBDA_INLINE {
      // Short rows that do not fill blocks take a fifth longer if pages are asked for alone (Zen 4).
      const bool pages_alone = at.length % block == 0 || at.length >= 4096;
      const Early early = Early::where<Stream>(at.source_is_dense(), pages_alone);
      at.each([&](std::size_t r, std::ptrdiff_t source, std::ptrdiff_t target) TQ_LAMBDA_INLINE {
        const std::uint64_t first = index + static_cast<std::uint64_t>(target);
        auto params_of_row = p.at(r);
        blocks<Stream, Params>(x + source, out + target, at.length, early, how == Writes::shifted,
                               [&](const float* in, float* to, std::size_t i, auto stream) TQ_LAMBDA_INLINE {
                                 params_of_row.prepare(i);
                                 one(in, to, params_of_row, i, stream, first + i);
                               });
      });
    };
    if constexpr (has_fast_path<N>) {
      if (correctable && (!needs_correctable(q_of<Params>) || codes.max - codes.min <= 255)) {
        const auto one = [&]<bool Stream>(const float* in, float* to, const auto& row, std::size_t i,
                                          std::bool_constant<Stream>, std::uint64_t) TQ_LAMBDA_INLINE {
          fast_block<Zero, Stream>(in, to, row, i, codes, n);
        };
        if (how != Writes::cached) each(std::true_type{}, one);
        else each(std::false_type{}, one);
        return;
      }
    }
    each(std::false_type{}, [&](const float* in, float* to, const auto& row, std::size_t i, auto,
                                std::uint64_t at_index) TQ_LAMBDA_INLINE {
      if constexpr (has_fast_path<N>)  // speed does not matter
        rare(in, to, row, i, codes, n);
      else
        general_block(in, to, row, i, codes, n, at_index);
    });
  }
};

#endif

}  // namespace tq::kernels

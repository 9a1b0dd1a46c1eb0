// SPDX-License-Identifier: MIT
#pragma once
// Codes of a number format -> float32: value * scale.

#include <tq/arch/cpu.hpp>
#include <tq/arch/lanes.hpp>
#include <tq/kernels/args.hpp>
#include <tq/kernels/codec.hpp>
#include <tq/kernels/encode.hpp>
#include <tq/kernels/pack.hpp>
#include <tq/kernels/params.hpp>
#include <tq/kernels/pieces.hpp>
#include <tq/kernels/reference.hpp>
#include <tq/kernels/stream.hpp>
#include <tq/kernels/to_floats.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tq::kernels {

/// decode<Arch, F>::run writes one float32 per code; bits of a code above the format's are ignored. unpack4 (formats of
/// 4 bits) takes two codes per byte, the first one lowest.
/// Preconditions of unpack4: the source's stretches follow one another, and unless there is only one, their length is even.
template <class Arch, ValueFormat F>
struct decode;

namespace detail {
// Element by element. Arch is in the name, not in the code: one symbol per instruction set.
template <class Arch, ValueFormat F>
struct decode_elements {
  static void run(const format_code<F>* q, float* out, const Span& span, bool) noexcept {
    for_each_element(span, [&](std::ptrdiff_t s, std::ptrdiff_t t, float scale, std::int32_t) TQ_LAMBDA_INLINE {
      out[t] = reference::decode<F>(q[s], scale);
    });
  }
  static void unpack4(const unsigned char* q, float* out, const Span& span, bool) noexcept {
    for_each_element(span, [&](std::ptrdiff_t s, std::ptrdiff_t t, float scale, std::int32_t) TQ_LAMBDA_INLINE {
      out[t] = reference::decode<F>(packed_code<format_code<F>, 4>(q, static_cast<std::size_t>(s)), scale);
    });
  }
};
}  // namespace detail

/// Without SIMD.
template <ValueFormat F>
struct decode<arch::scalar, F> : detail::decode_elements<arch::scalar, F> {};

#if TQ_HAS_SIMD

template <class Arch, ValueFormat F>
struct decode {
  using Code = format_code<F>;

  template <class S = Span, class Streaming = bool>
  static void run(const Code* q, float* out, const S& span, Streaming streaming) noexcept {
    each_piece<8 * sizeof(Code)>(reinterpret_cast<const unsigned char*>(q), out, span, streaming);
  }
  template <class S = Span, class Streaming = bool>
  static void unpack4(const unsigned char* q, float* out, const S& span, Streaming streaming) noexcept {
    each_piece<4>(q, out, span, streaming);
  }

 private:
  using L = arch::lanes<Arch>;
  using floats = arch::floats<Arch>;
  using ints = arch::ints<Arch>;
  static constexpr std::size_t width = arch::width<Arch>, block = 4 * width;

  template <int Bits, class S, class Streaming>
  static TQ_FORCE_INLINE void each_piece(const unsigned char* q, float* out, const S& span, Streaming streaming) noexcept {
    if (span.length == 1 && (span.source_stride != 1 || span.target_stride != 1)) {  // no neighbours
      if constexpr (Bits == 4) detail::decode_elements<Arch, F>::unpack4(q, out, span, false);
      else detail::decode_elements<Arch, F>::run(reinterpret_cast<const Code*>(q), out, span, false);
      return;
    }
    for_each_piece<Arch, false>(span, out, [&](const Stretches& at, const auto& params, bool) TQ_LAMBDA_INLINE {
      pieces<Bits>(q, out, at, params, streaming);
    }, streaming);
  }

  template <int Bits>
  static TQ_FORCE_INLINE void values(const unsigned char* q, floats (&v)[4]) noexcept {
    if constexpr (is_half<F> && L::has_half) return L::load_half(q, v);
    if constexpr (requires { requires codec<Arch, F>::is_like_half; })
      if (codec<Arch, F>::decode_like_half(q, v)) [[likely]] return;
    ints code[4];
    if constexpr (Bits == 4) {
      detail::widen_block<Arch, 4, false, !codec<Arch, F>::decode_wraps>(q, code);
    } else if constexpr (Bits == 8) {
      L::template widen8<false>(q, code);
    } else {
      L::template widen16<false>(q, code);
    }
    constexpr bool whole = F::bits == Bits || codec<Arch, F>::decode_wraps;
    TQ_UNROLL for (std::size_t k = 0; k < 4; ++k)
      v[k] = codec<Arch, F>::decode(whole ? code[k] : code[k] & ints((1 << F::bits) - 1));
  }

  template <int Bits, bool Stream, class Params>
  static TQ_FORCE_INLINE void one(const unsigned char* q, float* out, const Params& p, std::size_t i) noexcept {
    floats v[4];
    values<Bits>(q, v);
    TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) {
      put<Arch, Stream>(out + k * width, v[k] * p.scale(i, k));
    }
  }

  // Out of line, once per form of parameters. They are copied, so that stores cannot alias them.
  template <int Bits, class Params, class Streaming>
  static TQ_NO_INLINE void pieces(const unsigned char* q, float* out, const Stretches& stretches, const Params& params,
                                  Streaming streaming) noexcept {
    Params p = params;
    const Stretches at = stretches;
    const Writes how = writes<Arch, Params, 32>(streaming, out, at);
    const auto each = [&]<bool Stream>(std::bool_constant<Stream>) TQ_LAMBDA_INLINE {
      const bool asks = Stream && arch::finds_written_pages_late();
      at.each([&](std::size_t r, std::ptrdiff_t from, std::ptrdiff_t to) TQ_LAMBDA_INLINE {
        const auto& row = p.at(r);
        to_floats<Arch, Bits, Stream, Params::shifts>(
            q + byte_of<Bits>(from), out + to, at.length, asks, how == Writes::shifted,
            [&](const unsigned char* codes, float* floats_of, std::size_t i, auto stream) TQ_LAMBDA_INLINE {
              one<Bits, stream.value>(codes, floats_of, row, i);
            });
      });
    };
    if constexpr (may_stream<Streaming>)
      if (how != Writes::cached) return each(std::true_type{});
    each(std::false_type{});
  }
};

#endif

}  // namespace tq::kernels

// SPDX-License-Identifier: MIT
#pragma once
// Integer codes -> float32: (code - zero point) * scale.

#include <tq/arch/cpu.hpp>
#include <tq/arch/lanes.hpp>
#include <tq/kernels/args.hpp>
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

/// dequantize<Arch, Code>::run writes one float32 per code; unpack<Bits> (4 or 2, of 8-bit codes) takes packed ones, the
/// first one lowest.
/// Preconditions of unpack: the source's stretches follow one another, and unless there is only one, they are whole bytes.
template <class Arch, class Code>
struct dequantize;

namespace detail {
// Element by element. Arch is in the name, not in the code: one symbol per instruction set.
template <class Arch, class Code>
struct dequantize_elements {
  static void run(const Code* q, float* out, const Span& span, bool) noexcept {
    static_assert(sizeof(Code) <= 4);
    for_each_element(span, [&](std::ptrdiff_t s, std::ptrdiff_t t, float scale, std::int32_t zero) TQ_LAMBDA_INLINE {
      if constexpr (sizeof(Code) > 2) out[t] = reference::dequantize_wide(q[s], scale, zero);
      else out[t] = reference::dequantize(q[s], scale, zero);
    });
  }
  template <int Bits>
  static void unpack(const unsigned char* q, float* out, const Span& span, bool) noexcept {
    for_each_element(span, [&](std::ptrdiff_t s, std::ptrdiff_t t, float scale, std::int32_t zero) TQ_LAMBDA_INLINE {
      out[t] = reference::dequantize(packed_code<Code, Bits>(q, static_cast<std::size_t>(s)), scale, zero);
    });
  }
};
}  // namespace detail

/// Without SIMD.
template <class Code>
struct dequantize<arch::scalar, Code> : detail::dequantize_elements<arch::scalar, Code> {};

/// Codes of 32 bits, which are few: biases.
template <class Arch, class Code>
  requires(sizeof(Code) > 2)
struct dequantize<Arch, Code> : detail::dequantize_elements<Arch, Code> {};

#if TQ_HAS_SIMD

template <class Arch, class Code>
struct dequantize {
  template <class S = Span, class Streaming = bool>
  static void run(const Code* q, float* out, const S& span, Streaming streaming) noexcept {
    each_piece<8 * sizeof(Code)>(reinterpret_cast<const unsigned char*>(q), out, span, streaming);
  }
  template <int Bits, class S = Span, class Streaming = bool>
  static void unpack(const unsigned char* q, float* out, const S& span, Streaming streaming) noexcept {
    each_piece<Bits>(q, out, span, streaming);
  }

 private:
  using L = arch::lanes<Arch>;
  using F = arch::floats<Arch>;
  using I = arch::ints<Arch>;
  static constexpr std::size_t width = arch::width<Arch>, block = 4 * width;
  static constexpr bool is_signed = std::is_signed_v<Code>;

  template <int Bits, class S, class Streaming>
  static TQ_FORCE_INLINE void each_piece(const unsigned char* q, float* out, const S& span, Streaming streaming) noexcept {
    if (span.length == 1 && (span.source_stride != 1 || span.target_stride != 1)) {  // no neighbours
      if constexpr (Bits < 8) detail::dequantize_elements<Arch, Code>::template unpack<Bits>(q, out, span, false);
      else detail::dequantize_elements<Arch, Code>::run(reinterpret_cast<const Code*>(q), out, span, false);
      return;
    }
    for_each_piece<Arch, false>(span, out, [&](const Stretches& at, const auto& params, bool) TQ_LAMBDA_INLINE {
      pieces<Bits, detail::zeros_of<S>>(q, out, at, params, streaming, span.zero_point != nullptr);
    }, streaming);
  }

  template <int Bits, bool Zero, bool Stream, class Params>
  static TQ_FORCE_INLINE void one(const unsigned char* q, float* out, const Params& p, std::size_t i) noexcept {
    I v[4];
    if constexpr (Bits < 8) {
      detail::widen_block<Arch, Bits, is_signed>(q, v);
    } else if constexpr (Bits == 8) {
      L::template widen8<is_signed>(q, v);
    } else {
      L::template widen16<is_signed>(q, v);
    }
    TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) {
      put<Arch, Stream>(out + k * width, xsimd::to_float(Zero ? v[k] - p.zero(i, k) : v[k]) * p.scale(i, k));
    }
  }

  // Out of line, once per form of parameters. They are copied, so that stores cannot alias them.
  template <int Bits, Zeros Z, class Params, class Streaming>
  static TQ_NO_INLINE void pieces(const unsigned char* q, float* out, const Stretches& stretches, const Params& params,
                                  Streaming streaming, bool has_zero) noexcept {
    Params p = params;
    const Stretches at = stretches;
    const Writes how = writes<Arch, Params, 32>(streaming, out, at);
    const auto go = [&]<bool Zero, bool Stream>(std::bool_constant<Zero>,
                                                std::bool_constant<Stream>) TQ_LAMBDA_INLINE {
      const bool asks = Stream && arch::finds_written_pages_late();
      at.each([&](std::size_t r, std::ptrdiff_t from, std::ptrdiff_t to) TQ_LAMBDA_INLINE {
        const auto& row = p.at(r);
        to_floats<Arch, Bits, Stream, Params::shifts>(
            q + byte_of<Bits>(from), out + to, at.length, asks, how == Writes::shifted,
            [&](const unsigned char* codes, float* floats_of, std::size_t i, auto stream) TQ_LAMBDA_INLINE {
              one<Bits, Zero, stream.value>(codes, floats_of, row, i);
            });
      });
    };
    with_flags<may_stream<Streaming>, Z>(has_zero, how != Writes::cached, go);
  }
};

#endif

}  // namespace tq::kernels

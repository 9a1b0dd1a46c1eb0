// SPDX-License-Identifier: MIT
#pragma once
// Integer codes -> float32: (code - zero point) * scale.

#include <tq/arch/lanes.hpp>
#include <tq/kernels/args.hpp>
#include <tq/kernels/params.hpp>
#include <tq/kernels/reference.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tq::kernels {

template <class Arch, class Code>
struct dequantize;

namespace detail {
// Element by element. Arch is in the name, not in the code: one symbol per instruction set.
template <class Arch, class Code>
struct dequantize_elements {
  static void run(const Code* q, float* out, const Span& span, bool) noexcept {
    for_each_element(span, [&](std::ptrdiff_t s, std::ptrdiff_t t, float scale, std::int32_t zero)
                               TQ_LAMBDA_INLINE { out[t] = reference::dequantize(q[s], scale, zero); });
  }
};
}  // namespace detail

/// Without SIMD.
template <class Code>
struct dequantize<arch::scalar, Code> : detail::dequantize_elements<arch::scalar, Code> {};

#if TQ_HAS_SIMD

template <class Arch, class Code>
struct dequantize {
  static void run(const Code* q, float* out, const Span& span, bool streaming) noexcept {
    if (span.length == 1 && (span.source_stride != 1 || span.target_stride != 1)) {
      detail::dequantize_elements<Arch, Code>::run(q, out, span, false);  // no neighbours
      return;
    }
    for_each_piece<Arch, false>(span, [&](const Stretches& at, const auto& params, bool) TQ_LAMBDA_INLINE {
      pieces(q, out, at, params, streaming, span.zero_point != nullptr);
    });
  }

 private:
  using L = arch::lanes<Arch>;
  using F = arch::floats<Arch>;
  using I = arch::ints<Arch>;
  static constexpr std::size_t width = arch::width<Arch>, block = 4 * width;
  static constexpr bool is_signed = std::is_signed_v<Code>;

  template <bool Zero, bool Stream, class Params>
  static TQ_FORCE_INLINE void one(const Code* q, float* out, const Params& p, std::size_t i) noexcept {
    I v[4];
    if constexpr (sizeof(Code) == 1)
      L::template widen8<is_signed>(q, v);
    else
      L::template widen16<is_signed>(q, v);
    for (std::size_t k = 0; k < 4; ++k) {
      const F y = xsimd::to_float(Zero ? v[k] - p.zero(i, k) : v[k]) * p.scale(i, k);
      if constexpr (Stream)
        L::stream(out + k * width, y);
      else
        y.store_unaligned(out + k * width);
    }
  }

  template <bool Zero, bool Stream, class Params>
  static TQ_FORCE_INLINE void blocks(const Code* q, float* out, std::size_t count, const Params& p) noexcept {
    std::size_t i = 0;
    const auto part = [&](std::size_t n) TQ_LAMBDA_INLINE {
      alignas(64) Code in[block] = {};
      alignas(64) float to[block];
      std::memcpy(in, q + i, n * sizeof(Code));
      one<Zero, false>(in, to, p, i);
      std::memcpy(out + i, to, n * sizeof(float));
      i += n;
    };
    if constexpr (Stream) {
      const auto misaligned = reinterpret_cast<std::uintptr_t>(out) % sizeof(F);
      if (misaligned != 0) {
        const std::size_t head = (sizeof(F) - misaligned) / sizeof(float);
        part(head < count ? head : count);
      }
    }
    for (; i + block <= count; i += block) one<Zero, Stream>(q + i, out + i, p, i);
    if (i < count) part(count - i);
  }

  // Out of line, once per form of parameters. They are copied, so that stores cannot alias them.
  template <class Params>
  static TQ_NO_INLINE void pieces(const Code* q, float* out, const Stretches& stretches, const Params& params,
                                  bool streaming, bool has_zero) noexcept {
    const Params p = params;
    const Stretches at = stretches;
    const auto go = [&]<bool Zero, bool Stream>(std::bool_constant<Zero>,
                                                std::bool_constant<Stream>) TQ_LAMBDA_INLINE {
      for (std::size_t r = 0; r < at.count; ++r) {
        const auto row = static_cast<std::ptrdiff_t>(r);
        blocks<Zero, Stream>(q + at.source + row * at.source_stride, out + at.target + row * at.target_stride,
                             at.length, p.at(r));
      }
      if constexpr (Stream) L::fence();
    };
    if constexpr (Params::streams) {
      if (streaming) {
        if (has_zero)
          go(std::true_type{}, std::true_type{});
        else
          go(std::false_type{}, std::true_type{});
        return;
      }
    }
    if (has_zero)
      go(std::true_type{}, std::false_type{});
    else
      go(std::false_type{}, std::false_type{});
  }
};

#endif

}  // namespace tq::kernels

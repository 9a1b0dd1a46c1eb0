// SPDX-License-Identifier: MIT
#pragma once
// Sinks of floats.

#include <tq/arch/lanes.hpp>
#include <tq/driver/stores.hpp>
#include <tq/kernels/codec.hpp>
#include <tq/numeric/overflow.hpp>
#include <tq/numeric/rounding.hpp>
#include <tq/numeric/value_format.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tq::kernels {

/// float32, and float64, which has the same values.
template <class Float>
struct ToFloats {
  static constexpr int bits = 8 * sizeof(Float);

  template <class Arch>
  static TQ_FORCE_INLINE void put_one(unsigned char* p, std::size_t i, float v) noexcept {
    reinterpret_cast<Float*>(p)[i] = v;
  }
#if TQ_HAS_SIMD
  template <class Arch, bool Stream>
  static TQ_FORCE_INLINE void put(unsigned char* p, const arch::floats<Arch> (&v)[4]) noexcept {
    constexpr std::size_t width = arch::width<Arch>;
    auto* out = reinterpret_cast<Float*>(p);
    if constexpr (std::is_same_v<Float, float>) {
      TQ_UNROLL for (std::size_t k = 0; k < 4; ++k)
          driver::put<Arch, Stream>(out + k * width, v[k]);
    } else {
      alignas(64) float values[4 * width];
      TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) v[k].store_aligned(values + k * width);
      for (std::size_t i = 0; i < 4 * width; ++i) out[i] = static_cast<Float>(values[i]);
    }
  }
#endif
};

/// A format of 16 bits, nearest even, overflow by O: by default what is too large becomes the
/// largest finite value.
template <ValueFormat F, OverflowPolicy O = Saturate>
struct ToHalves {
  static constexpr int bits = 16;

  template <class Arch>
  static TQ_FORCE_INLINE void put_one(unsigned char* p, std::size_t i, float v) noexcept {
    reinterpret_cast<std::uint16_t*>(p)[i] =
        static_cast<std::uint16_t>(F::template encode<O>(v, NearestEven{}, 0));
  }
#if TQ_HAS_SIMD
  template <class Arch, bool Stream>
  static TQ_FORCE_INLINE void put(unsigned char* p, const arch::floats<Arch> (&v)[4]) noexcept {
    using L = arch::lanes<Arch>;
    using floats = arch::floats<Arch>;
    typename L::bytes out[2];
    if constexpr (is_bfloat16<F> && L::has_bfloat16)
      if (L::to_bfloat16(v, out)) [[likely]]
        return put_registers<Arch, Stream>(p, out);
    if (L::any_nan(v[0], v[1], v[2], v[3])) [[unlikely]] {
      const floats copies[4] = {v[0], v[1], v[2], v[3]};  // so that v stays in registers
      return one_by_one<Arch>(p, copies);
    }
    if constexpr (is_half<F> && L::has_half) {
      floats bounded[4] = {v[0], v[1], v[2], v[3]};
      if constexpr (F::template saturates<O>)
        TQ_UNROLL for (floats& f : bounded) f =
            arch::clamp<Arch>(f, floats(-F::max_finite), floats(F::max_finite));
      L::template store_half<Stream>(p, bounded);
    } else {
      arch::ints<Arch> code[4];
      TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) code[k] =
          codec<Arch, F>::template encode<O>(v[k]);
      L::template narrow16<false>(code, out);
      put_registers<Arch, Stream>(p, out);
    }
  }

 private:
  template <class Arch, bool Stream>
  static TQ_FORCE_INLINE void put_registers(
      unsigned char* p, const typename arch::lanes<Arch>::bytes (&out)[2]) noexcept {
    driver::put<Arch, Stream>(p, out[0]);
    driver::put<Arch, Stream>(p + sizeof(out[0]), out[1]);
  }
  template <class Arch>
  static TQ_RARE void one_by_one(unsigned char* p, const arch::floats<Arch> (&v)[4]) noexcept {
    alignas(64) float values[4 * arch::width<Arch>];
    for (std::size_t k = 0; k < 4; ++k) v[k].store_aligned(values + k * arch::width<Arch>);
    for (std::size_t i = 0; i < 4 * arch::width<Arch>; ++i) put_one<Arch>(p, i, values[i]);
  }
#endif
};

}  // namespace tq::kernels

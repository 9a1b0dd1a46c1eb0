// SPDX-License-Identifier: MIT
#pragma once
// Sources of the values that codes of a number format have: float16, bfloat16, float8, code books
// and the others.

#include <tq/arch/lanes.hpp>
#include <tq/kernels/codec.hpp>
#include <tq/kernels/codes.hpp>
#include <tq/numeric/value_format.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tq::kernels {

/// The type that holds one code of a format.
template <ValueFormat F>
using format_code = std::conditional_t<(F::bits <= 8), std::uint8_t, std::uint16_t>;

namespace detail {
#if TQ_HAS_SIMD
/// The values of a block of codes that have `Bits` bits in memory. Bits of a code above the
/// format's are ignored.
template <class Arch, ValueFormat F, class Codes, int Bits = Codes::bits>
TQ_FORCE_INLINE void load_values(const unsigned char* p, arch::floats<Arch> (&v)[4]) noexcept {
  using ints = arch::ints<Arch>;
  if constexpr (Bits == 16 && is_half<F> && arch::lanes<Arch>::has_half)
    return arch::lanes<Arch>::load_half(p, v);
  if constexpr (Bits == 8)
    if constexpr (requires { requires codec<Arch, F>::is_like_half; })
      if (codec<Arch, F>::decode_like_half(p, v)) [[likely]]
        return;
  ints code[4];
  constexpr bool wraps = codec<Arch, F>::decode_wraps;
  if constexpr (Bits == 4 && requires { requires Codes::low_first; })
    widen_block<Arch, 4, false, !wraps>(p, code);
  else Codes::template load<Arch>(p, code);
  TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) v[k] = codec<Arch, F>::decode(
      F::bits == Bits || wraps ? code[k] : code[k] & ints((1 << F::bits) - 1));
}
#endif
}  // namespace detail

/// The values of codes of F, as a source `Codes` has them in memory.
template <ValueFormat F, class Codes>
struct ValuesOf {
  static constexpr int bits = Codes::bits;

  template <class Arch>
  static TQ_FORCE_INLINE float one(const unsigned char* p, std::size_t i) noexcept {
    return F::decode(static_cast<std::uint32_t>(Codes::template one<Arch>(p, i)));
  }
#if TQ_HAS_SIMD
  template <class Arch>
  using registers = arch::floats<Arch>;
  template <class Arch>
  static TQ_FORCE_INLINE void load(const unsigned char* p, arch::floats<Arch> (&v)[4]) noexcept {
    detail::load_values<Arch, F, Codes>(p, v);
  }
#endif
};

/// The same of codes that have whole bytes each.
template <ValueFormat F>
struct Values : ValuesOf<F, IntegerCodes<format_code<F>>> {};

/// The same of packed ones.
template <ValueFormat F, bool LowFirst = true>
struct PackedValues : ValuesOf<F, PackedCodes<format_code<F>, F::bits, LowFirst>> {
  using loose = Values<F>;
  template <class Arch>
  static void unpack(const unsigned char* in, std::size_t first, std::size_t n,
                     unsigned char* out) noexcept {
    detail::unpack_from<Arch, std::uint8_t, F::bits, LowFirst>(in, first, n, out);
  }
};

}  // namespace tq::kernels

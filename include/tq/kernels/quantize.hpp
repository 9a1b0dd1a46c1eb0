// SPDX-License-Identifier: MIT
#pragma once
// Stage of quantize: real numbers -> integer codes.

#include <tq/arch/lanes.hpp>
#include <tq/driver/policies.hpp>
#include <tq/kernels/quotient_simd.hpp>
#include <tq/kernels/reference.hpp>
#include <tq/kernels/round.hpp>
#include <tq/kernels/to_codes.hpp>
#include <tq/numeric/code_range.hpp>
#include <tq/numeric/numerics.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tq::kernels {

/// clamp(round(x / scale) + zero point) as a Code of 8, 16 or 32 bits; of those that are packed,
/// as one of 8.
template <class Code, NumericsPolicy N>
struct Quantize {
  CodeRange range;
  N numerics;

  static constexpr bool takes_origins = true;
  static constexpr bool draws = may_be_stochastic<typename N::rounding_type>;

  template <class Arch>
  TQ_FORCE_INLINE std::int32_t one(float x, float scale, std::int32_t zero_point,
                                   std::uint64_t draw_index) const noexcept {
    const reference::Slot slot{scale, zero_point, range.min, range.max};
    if constexpr (sizeof(Code) > 2) return reference::quantize_wide(x, slot, numerics, draw_index);
    else return reference::quantize(x, slot, numerics, draw_index);
  }

#if TQ_HAS_SIMD
 private:
  static constexpr bool is_signed = std::is_signed_v<Code>;
  static constexpr bool saturates = sizeof(Code) == 1 && has_fast_path<N>;
  template <class Arch>
  static constexpr Quotient method =
      saturates                                            ? fast_converted_quotient<Arch, N>
      : std::same_as<typename N::scaling_type, Reciprocal> ? Quotient::multiply
                                                           : Quotient::divide;

 public:
  template <class Arch>
  static constexpr driver::Divides divides =
      needs_correctable(method<Arch>)      ? driver::Divides::where_correctable
      : method<Arch> == Quotient::multiply ? driver::Divides::by_reciprocals
                                           : driver::Divides::no;

  /// Looking for values that need care takes as long for two blocks as for one.
  template <class Arch>
  static constexpr bool pairs = saturates;
  template <class Arch>
  using made = typename code_block<Arch, sizeof(Code)>::type;

  template <class Arch>
  struct kept {
    using L = arch::lanes<Arch>;
    typename L::bytes lo, hi;
    typename L::words lowest = arch::kept(L::splat16(-32768));
    bool full;  // saturation is all the clamping there is to do
    TQ_FORCE_INLINE explicit kept(const Quantize& q) noexcept
        : lo(L::splat8(q.range.min)),
          hi(L::splat8(q.range.max)),
          full(q.range.min == (is_signed ? -128 : 0) && q.range.max == (is_signed ? 127 : 255)) {}
  };

  template <class Arch, bool Origins, std::size_t Blocks, class P>
  TQ_FORCE_INLINE bool blocks(const arch::floats<Arch> (&x)[Blocks][4], const P& p, std::size_t i,
                              std::uint64_t draw_index, const kept<Arch>& c,
                              made<Arch> (&out)[Blocks]) const noexcept {
    if constexpr (sizeof(Code) > 2) return false;  // few: biases
    else if constexpr (saturates) return by_saturation<Arch, Origins>(x, p, i, c, out);
    else {
      TQ_UNROLL for (std::size_t b = 0; b < Blocks; ++b) by_contract<Arch, Origins>(
          x[b], p, i + b * driver::block<Arch>, draw_index + b * driver::block<Arch>, out[b]);
      return true;
    }
  }

 private:
  // Rounds without clamping first: int32 -> int16 -> int8 saturate, so only NaN and values of
  // magnitude beyond 2^15 need care, and all of those (that are not simply large) show up as
  // -32768.
  template <class Arch, bool Origins, std::size_t Blocks, class P>
  static TQ_FORCE_INLINE bool by_saturation(const arch::floats<Arch> (&x)[Blocks][4], const P& p,
                                            std::size_t i, const kept<Arch>& c,
                                            made<Arch> (&out)[Blocks]) noexcept {
    using L = arch::lanes<Arch>;
    typename L::words w[2 * Blocks];
    TQ_UNROLL for (std::size_t b = 0; b < Blocks; ++b) {
      arch::ints<Arch> v[4];
      TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) v[k] =
          arch::round_to_int<Arch>(quotient<quotient_with<P>(method<Arch>), Arch>(
              x[b][k], p, i + b * driver::block<Arch>, k));
      w[2 * b] = L::pack16(v[0], v[1]);
      w[2 * b + 1] = L::pack16(v[2], v[3]);
    }
    typename L::words least = w[0];
    TQ_UNROLL for (std::size_t k = 1; k < 2 * Blocks - 1; ++k) least = L::min16(least, w[k]);
    if (L::lowest16(least, w[2 * Blocks - 1], c.lowest)) [[unlikely]]
      return false;
    if constexpr (Origins) TQ_UNROLL for (std::size_t k = 0; k < 2 * Blocks; ++k) {
        const std::size_t at = i + k / 2 * driver::block<Arch>, r = k % 2 * 2;
        w[k] = L::add16(w[k], L::pack16(p.origin(at, r), p.origin(at, r + 1)));
      }
    TQ_UNROLL for (std::size_t b = 0; b < Blocks; ++b) {
      out[b] = L::template narrow8<is_signed>(w[2 * b], w[2 * b + 1]);
      if (!c.full) out[b] = L::template clamp8<is_signed>(out[b], c.lo, c.hi);
    }
    return true;
  }

  // Any numerics, value and scale.
  template <class Arch, bool Origins, class P>
  TQ_FORCE_INLINE void by_contract(const arch::floats<Arch> (&x)[4], const P& p, std::size_t i,
                                   std::uint64_t draw_index, made<Arch>& out) const noexcept {
    using L = arch::lanes<Arch>;
    using I = arch::ints<Arch>;
    I v[4];
    TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) {
      const I zero = Origins ? I(p.origin(i, k)) : I(0);
      v[k] = grid_value<Arch>(exact_quotient<Arch, N>(x[k], p, i, k), zero, range, numerics,
                              draw_index + k * arch::width<Arch>) +
             zero;
    }
    if constexpr (sizeof(Code) == 1)
      out = L::template narrow8<is_signed>(L::pack16(v[0], v[1]), L::pack16(v[2], v[3]));
    else L::template narrow16<is_signed>(v, out);
  }
#endif
};

}  // namespace tq::kernels

// SPDX-License-Identifier: MIT
#pragma once
// Stages that make codes of a number format (small floats, code books): x / scale, and its code.

#include <tq/arch/lanes.hpp>
#include <tq/driver/policies.hpp>
#include <tq/kernels/codec.hpp>
#include <tq/kernels/floats.hpp>
#include <tq/kernels/quotient_simd.hpp>
#include <tq/kernels/reference.hpp>
#include <tq/kernels/to_codes.hpp>
#include <tq/kernels/values.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tq::kernels {

namespace detail {
// True if the corrected and the split quotient give the codes of the division. They are proven for
// ties that are half-integers below 256 times a power of two (driver/reciprocal.hpp), as formats
// with at most 7 mantissa bits have them: nothing underflows near ties that are not too small, and
// quotients up to 2^20 are not clamped anywhere.
template <class F>
inline constexpr bool has_short_ties = false;
template <int Exponent, int Mantissa, int Bias, FloatSpecials Specials>
  requires(Mantissa <= 7 && Bias < 32 &&
           FloatFormat<Exponent, Mantissa, Bias, Specials>::max_finite < 0x1p20f)
inline constexpr bool has_short_ties<FloatFormat<Exponent, Mantissa, Bias, Specials>> = true;
template <int Bits, int Fraction>
  requires(Bits <= 8)
inline constexpr bool has_short_ties<FixedFormat<Bits, Fraction>> = true;

#if TQ_HAS_SIMD
// Scales of 0 make every value 0, which no quotient does: only powers of two are surely none.
template <class N>
inline constexpr bool by_powers = std::same_as<typename N::scaling_type, PowerOfTwo>;
template <class N>
inline constexpr driver::Divides divides_nonzero =
    by_powers<N>                                         ? driver::Divides::by_reciprocals
    : std::same_as<typename N::scaling_type, Reciprocal> ? driver::Divides::by_correctable
                                                         : driver::Divides::where_correctable;
#endif
}  // namespace detail

/// The code of x / scale in format F. Zero points are not used.
template <ValueFormat F, NumericsPolicy N>
struct Encode {
  N numerics;

  static constexpr bool takes_origins = false;
  static constexpr bool draws = may_be_stochastic<typename N::rounding_type>;

  template <class Arch>
  TQ_FORCE_INLINE std::int32_t one(float x, float scale, std::int32_t,
                                   std::uint64_t draw_index) const noexcept {
    return static_cast<std::int32_t>(reference::encode<F>(x, scale, numerics, draw_index));
  }

#if TQ_HAS_SIMD
 private:
  using O = typename N::overflow_type;
  static constexpr bool nearest = std::same_as<typename N::rounding_type, NearestEven>;
  template <class Arch>
  static constexpr bool in_registers = (nearest || codec<Arch, F>::rounds) && has_known_scaling<N>;
  // True if codes take the sign of x, and only the magnitude of x / s, which is infinite where a
  // product overflows.
  template <class Arch>
  static constexpr bool signs_of_x = nearest && codec<Arch, F>::takes_signs;
  template <class Arch>
  static constexpr Quotient method =
      detail::by_powers<N> || std::same_as<typename N::scaling_type, Reciprocal>
          ? Quotient::multiply
      : !(arch::lanes<Arch>::has_fma && nearest && detail::has_short_ties<F>) ? Quotient::divide
      : signs_of_x<Arch>                                                      ? Quotient::split
                                                                              : Quotient::corrected;

 public:
  template <class Arch>
  static constexpr driver::Divides divides =
      in_registers<Arch> ? detail::divides_nonzero<N> : driver::Divides::no;
  template <class Arch>
  using made = typename code_block<Arch, (F::bits > 8 ? 2 : 1)>::type;

  template <class Arch, bool, std::size_t Blocks, class P>
  TQ_FORCE_INLINE bool blocks(const arch::floats<Arch> (&x)[Blocks][4], const P& p, std::size_t i,
                              std::uint64_t draw_index, const driver::NothingKept&,
                              made<Arch> (&out)[Blocks]) const noexcept {
    bool all = true;
    TQ_UNROLL for (std::size_t b = 0; b < Blocks; ++b) {
      const std::size_t at = b * driver::block<Arch>;
      arch::ints<Arch> code[4];
      all = encode<Arch>(x[b], p, i + at, draw_index + at, code) && all;
      using L = arch::lanes<Arch>;
      if constexpr (F::bits > 8) L::template narrow16<false>(code, out[b]);
      else
        out[b] =
            L::template narrow8<false>(L::pack16(code[0], code[1]), L::pack16(code[2], code[3]));
    }
    return all;
  }

  /// The codes of a block; false where it holds NaN, or cannot be done so.
  template <class Arch, class P>
  TQ_FORCE_INLINE bool encode(const arch::floats<Arch> (&x)[4], const P& p, std::size_t i,
                              [[maybe_unused]] std::uint64_t draw_index,
                              arch::ints<Arch> (&code)[4]) const noexcept {
    if constexpr (!in_registers<Arch>) {
      return false;
    } else {
      using C = codec<Arch, F>;
      arch::floats<Arch> v[4];
      TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) v[k] =
          quotient<quotient_with<P>(method<Arch>), Arch>(x[k], p, i, k);
      if (arch::lanes<Arch>::any_nan(v[0], v[1], v[2], v[3])) [[unlikely]]
        return false;
      TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) {
        if constexpr (signs_of_x<Arch>) code[k] = C::template encode<O>(v[k], x[k]);
        else if constexpr (nearest) code[k] = C::template encode<O>(v[k]);
        else
          code[k] =
              C::template encode<O>(v[k], numerics.rounding, draw_index + k * arch::width<Arch>);
      }
      return true;
    }
  }
#endif
};

/// x / scale, and 0 where the scale is, for sinks that round it.
template <NumericsPolicy N>
struct Divided {
  static constexpr bool takes_origins = false, draws = false;

  template <class Arch>
  static TQ_FORCE_INLINE float one(float x, float scale, std::int32_t, std::uint64_t) noexcept {
    return scale == 0.0f && x == x ? 0.0f : N::scaling_type::apply(x, scale);
  }
#if TQ_HAS_SIMD
  template <class Arch>
  static constexpr driver::Divides divides = detail::divides_nonzero<N>;
  template <class Arch>
  using made = arch::floats<Arch>[4];
  template <class Arch, bool, std::size_t Blocks, class P>
  static TQ_FORCE_INLINE bool blocks(const arch::floats<Arch> (&x)[Blocks][4], const P& p,
                                     std::size_t i, std::uint64_t, const driver::NothingKept&,
                                     made<Arch> (&out)[Blocks]) noexcept {
    static_assert(Blocks == 1);
    if constexpr (!has_known_scaling<N>) {
      return false;
    } else {
      constexpr Quotient method =
          std::same_as<typename N::scaling_type, Divide> ? Quotient::divide : Quotient::multiply;
      TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) out[0][k] =
          quotient<method, Arch>(x[0][k], p, i, k);
      return true;
    }
  }
#endif
};

/// The stage and the sink for codes of F that have `Bits` bits in memory. To nearest, formats of 16
/// bits are rounded by their sink.
template <ValueFormat F, NumericsPolicy N, int Bits = 8 * sizeof(format_code<F>),
          bool LowFirst = true>
struct encoding {
  using stage = Encode<F, N>;
  using sink = typename to_codes<Bits, LowFirst>::type;
};
template <ValueFormat F, NumericsPolicy N, bool LowFirst>
  requires std::same_as<typename N::rounding_type, NearestEven>
struct encoding<F, N, 16, LowFirst> {
  using stage = Divided<N>;
  using sink = ToHalves<F, typename N::overflow_type>;
};

}  // namespace tq::kernels

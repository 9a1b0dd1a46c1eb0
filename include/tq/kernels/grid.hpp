// SPDX-License-Identifier: MIT
#pragma once
// The quotient and the grid value on batches: what quantize and fake_quantize share.

#include <tq/arch/lanes.hpp>
#include <tq/kernels/args.hpp>
#include <tq/kernels/params.hpp>
#include <tq/kernels/round.hpp>
#include <tq/numeric/numerics.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>

#if TQ_HAS_SIMD

namespace tq::kernels {

/// Whether multiplications take the reciprocals of these parameters from memory themselves, each one for all lanes.
template <class Arch, class Params>
inline constexpr bool spreads = requires(const Params& p) {
  arch::lanes<Arch>::multiply_by(p.scale(0, 0), p.inverse_at(0, 0));
};

/// x / s by the chosen method, for batch k of the block at element i of the parameters.
template <Quotient Q, class Arch, class Params>
TQ_FORCE_INLINE arch::floats<Arch> quotient(const arch::floats<Arch>& x, const Params& p, std::size_t i,
                                            std::size_t k) noexcept {
  using L = arch::lanes<Arch>;
  if constexpr (Q == Quotient::divide) {
    return arch::divide<Arch>(x, p.scale(i, k));
  } else if constexpr (Q == Quotient::multiply) {
    if constexpr (spreads<Arch, Params>) return L::multiply_by(x, p.inverse_at(i, k));
    else return x * p.inverse(i, k);
  } else if constexpr (Q == Quotient::split) {
    if constexpr (spreads<Arch, Params>) return L::fma_by(x, p.inverse_at(i, k), L::multiply_by(x, p.rest_at(i, k)));
    else return L::fma(x, p.inverse(i, k), x * p.rest(i, k));
  } else {
    arch::floats<Arch> once = x, inverse = p.inverse(i, k);
    if constexpr (Params::per_lane) {  // both from memory, where g++ would load them again for every use
      once = arch::floats<Arch>(arch::kept(once.data));
      inverse = arch::floats<Arch>(arch::kept(inverse.data));
    }
    arch::floats<Arch> q = once * inverse;
    if constexpr (L::conversion_saturates)  // infinite x: keep the remainder from becoming NaN
      q = xsimd::min(xsimd::max(q, arch::floats<Arch>(-0x1p20f)), arch::floats<Arch>(0x1p20f));
    return L::fma(L::fnma(p.scale(i, k), q, once), inverse, q);
  }
}

/// True for the scalings of the library, which batches compute by multiplication or division.
template <NumericsPolicy N>
inline constexpr bool has_known_scaling =
    std::same_as<typename N::scaling_type, Divide> || std::same_as<typename N::scaling_type, Reciprocal> ||
    std::same_as<typename N::scaling_type, PowerOfTwo>;

/// The quotient a numerics policy asks for, by multiplication or division only; scalings of the user's own lane by lane.
template <class Arch, NumericsPolicy N, class Params>
TQ_FORCE_INLINE arch::floats<Arch> exact_quotient(const arch::floats<Arch>& x, const Params& p, std::size_t i,
                                                  std::size_t k) noexcept {
  if constexpr (has_known_scaling<N>) {
    constexpr bool multiplies = std::same_as<typename N::scaling_type, Reciprocal>;
    return quotient<multiplies ? Quotient::multiply : Quotient::divide, Arch>(x, p, i, k);
  } else {
    alignas(64) float v[arch::width<Arch>], scale[arch::width<Arch>];
    x.store_aligned(v);
    arch::floats<Arch>(p.scale(i, k)).store_aligned(scale);
    for (std::size_t lane = 0; lane < arch::width<Arch>; ++lane) v[lane] = N::scaling_type::apply(v[lane], scale[lane]);
    return arch::floats<Arch>::load_aligned(v);
  }
}

/// reference::grid_value as int32, for any numerics, value and scale.
template <class Arch, NumericsPolicy N, class Params>
TQ_FORCE_INLINE arch::ints<Arch> grid_value(const arch::floats<Arch>& x, const Params& p, std::size_t i,
                                            std::size_t k, Codes codes, const N& n, std::uint64_t index) noexcept {
  using F = arch::floats<Arch>;
  using I = arch::ints<Arch>;
  const I zero = p.zero(i, k);
  const F lo = xsimd::to_float(I(codes.min) - zero), hi = xsimd::to_float(I(codes.max) - zero);
  constexpr bool to_min = std::same_as<typename N::nan_type, NanToMin>;
  F v = arch::replace_nan<Arch>(exact_quotient<Arch, N>(x, p, i, k), to_min ? lo : F(0.0f));
  v = arch::clamp<Arch>(v, lo, hi);
  return round_with<Arch>(n.rounding, v, index);
}

/// Whether the fast paths compute this: nearest even, NaN to zero, by multiplication or division.
template <NumericsPolicy N>
inline constexpr bool has_fast_path =
    std::same_as<typename N::rounding_type, NearestEven> && !std::same_as<typename N::nan_type, NanToMin> &&
    (std::same_as<typename N::scaling_type, Reciprocal> || std::same_as<typename N::scaling_type, Divide>);

/// The quotient of the fast paths; that of division needs a correctable scale and codes of at most 8 bits.
template <class Arch, NumericsPolicy N>
inline constexpr Quotient fast_quotient = std::same_as<typename N::scaling_type, Reciprocal>
                                              ? Quotient::multiply
                                          : arch::lanes<Arch>::has_fma ? Quotient::corrected
                                                                       : Quotient::divide;

/// The same where the quotient is converted to int32 at once: x86 makes INT_MIN of every infinity and NaN, which is
/// easily found.
template <class Arch, NumericsPolicy N>
inline constexpr Quotient fast_converted_quotient =
    fast_quotient<Arch, N> == Quotient::corrected && !arch::lanes<Arch>::conversion_saturates
        ? Quotient::split
        : fast_quotient<Arch, N>;

/// The same where x is clamped to what has a code before it is divided: no product overflows.
template <class Arch, NumericsPolicy N>
inline constexpr Quotient fast_clamped_quotient =
    fast_quotient<Arch, N> == Quotient::corrected ? Quotient::split : fast_quotient<Arch, N>;

}  // namespace tq::kernels

#endif

// SPDX-License-Identifier: MIT
#pragma once
// The quotient and the grid value on batches: what quantize and fake_quantize share.

#include <tq/arch/lanes.hpp>
#include <tq/kernels/quotient.hpp>
#include <tq/kernels/round.hpp>
#include <tq/numeric/code_range.hpp>
#include <tq/numeric/numerics.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>

#if TQ_HAS_SIMD

namespace tq::kernels {

/// x / s by the chosen method, for register k of the block at element i of a cursor.
template <Quotient Q, class Arch, class Params>
TQ_FORCE_INLINE arch::floats<Arch> quotient(const arch::floats<Arch>& x, const Params& p,
                                            std::size_t i, std::size_t k) noexcept {
  using L = arch::lanes<Arch>;
  using Floats = arch::floats<Arch>;
  if constexpr (Q == Quotient::divide) {
    return arch::divide<Arch>(x, p.scale(i, k));
  } else if constexpr (Q == Quotient::multiply) {
    return p.divided(x, i, k);
  } else if constexpr (Q == Quotient::split) {
    return p.divided_plus(x, p.by_rest(x, i, k), i, k);
  } else {
    const Floats once(arch::kept(x.data)),
        inverse(arch::kept(Floats(p.inverse(i, k)).data));  // g++ would load them for every use
    Floats q = once * inverse;
    if constexpr (L::conversion_saturates)  // infinite x: keep the remainder from becoming NaN
      q = xsimd::min(xsimd::max(q, Floats(-0x1p20f)), Floats(0x1p20f));
    return L::fma(L::fnma(p.scale(i, k), q, once), inverse, q);
  }
}

/// True for the scalings of the library, which batches compute by multiplication or division.
template <NumericsPolicy N>
inline constexpr bool has_known_scaling = std::same_as<typename N::scaling_type, Divide> ||
                                          std::same_as<typename N::scaling_type, Reciprocal> ||
                                          std::same_as<typename N::scaling_type, PowerOfTwo>;

/// The quotient a numerics policy asks for, by multiplication or division only; scalings of the
/// user's own lane by lane.
template <class Arch, NumericsPolicy N, class Params>
TQ_FORCE_INLINE arch::floats<Arch> exact_quotient(const arch::floats<Arch>& x, const Params& p,
                                                  std::size_t i, std::size_t k) noexcept {
  if constexpr (has_known_scaling<N>) {
    constexpr bool multiplies = std::same_as<typename N::scaling_type, Reciprocal>;
    return quotient<multiplies ? Quotient::multiply : Quotient::divide, Arch>(x, p, i, k);
  } else {
    alignas(64) float v[arch::width<Arch>], scale[arch::width<Arch>];
    x.store_aligned(v);
    arch::floats<Arch>(p.scale(i, k)).store_aligned(scale);
    for (std::size_t lane = 0; lane < arch::width<Arch>; ++lane)
      v[lane] = N::scaling_type::apply(v[lane], scale[lane]);
    return arch::floats<Arch>::load_aligned(v);
  }
}

/// reference::grid_value as int32 of a quotient, for any numerics, value and scale.
template <class Arch, NumericsPolicy N>
TQ_FORCE_INLINE arch::ints<Arch> grid_value(const arch::floats<Arch>& q,
                                            const arch::ints<Arch>& zero, CodeRange codes,
                                            const N& n, std::uint64_t index) noexcept {
  using Floats = arch::floats<Arch>;
  using I = arch::ints<Arch>;
  const Floats lo = xsimd::to_float(I(codes.min) - zero), hi = xsimd::to_float(I(codes.max) - zero);
  constexpr bool to_min = std::same_as<typename N::nan_type, NanToMin>;
  const Floats v = arch::replace_nan<Arch>(q, to_min ? lo : Floats(0.0f));
  return round_with<Arch>(n.rounding, arch::clamp<Arch>(v, lo, hi), index);
}

/// Whether the fast paths compute this: nearest even, NaN to zero, by multiplication or division.
template <NumericsPolicy N>
inline constexpr bool has_fast_path = std::same_as<typename N::rounding_type, NearestEven> &&
                                      !std::same_as<typename N::nan_type, NanToMin> &&
                                      (std::same_as<typename N::scaling_type, Reciprocal> ||
                                       std::same_as<typename N::scaling_type, Divide>);

/// The quotient of the fast paths; that of division needs a correctable scale and codes of at most
/// 8 bits.
template <class Arch, NumericsPolicy N>
inline constexpr Quotient fast_quotient =
    std::same_as<typename N::scaling_type, Reciprocal> ? Quotient::multiply
    : arch::lanes<Arch>::has_fma                       ? Quotient::corrected
                                                       : Quotient::divide;

/// The same where the quotient is converted to int32 at once: x86 makes INT_MIN of every infinity
/// and NaN, which is easily found.
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

// SPDX-License-Identifier: MIT
#pragma once
// The rounding policies of numeric/rounding.hpp on batches, bit for bit.

#include <tq/arch/batch.hpp>
#include <tq/numeric/rounding.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace tq::kernels {

using tq::detail::may_be_stochastic;

#if TQ_HAS_SIMD

using arch::floats;
using arch::ints;

namespace detail {
template <class Arch>
TQ_FORCE_INLINE ints<Arch> floor_to_int(const floats<Arch>& v) noexcept {
  const ints<Arch> t = arch::truncate_to_int<Arch>(v);
  return t - arch::int_where<Arch>(xsimd::to_float(t) > v, 1);
}

template <class Arch>
TQ_FORCE_INLINE xsimd::batch<std::uint32_t, Arch> mix32(
    xsimd::batch<std::uint32_t, Arch> h) noexcept {
  using U = xsimd::batch<std::uint32_t, Arch>;
  h = h ^ (h >> 16);
  h = h * U(0x7feb352du);
  h = h ^ (h >> 15);
  h = h * U(0x846ca68bu);
  return h ^ (h >> 16);
}
}  // namespace detail

/// Rounds finite values of magnitude below 2^31; `index` is the element index of lane 0.
template <class Arch>
TQ_FORCE_INLINE ints<Arch> round_with(const NearestEven&, const floats<Arch>& v,
                                      std::uint64_t) noexcept {
  return arch::round_to_int<Arch>(v);
}
template <class Arch>
TQ_FORCE_INLINE ints<Arch> round_with(const TowardZero&, const floats<Arch>& v,
                                      std::uint64_t) noexcept {
  return arch::truncate_to_int<Arch>(v);
}
template <class Arch>
TQ_FORCE_INLINE ints<Arch> round_with(const Floor&, const floats<Arch>& v, std::uint64_t) noexcept {
  return detail::floor_to_int<Arch>(v);
}
template <class Arch>
TQ_FORCE_INLINE ints<Arch> round_with(const HalfAway&, const floats<Arch>& v,
                                      std::uint64_t) noexcept {
  const floats<Arch> w = arch::uncontracted<Arch>(v);
  const ints<Arch> t = arch::truncate_to_int<Arch>(w);
  const floats<Arch> fraction = w - xsimd::to_float(t);  // exact
  const floats<Arch> half(0.5f);
  return t + arch::int_where<Arch>(fraction >= half, 1) -
         arch::int_where<Arch>(fraction <= -half, 1);
}
template <class Arch>
TQ_FORCE_INLINE ints<Arch> round_with(const HalfUp&, const floats<Arch>& v,
                                      std::uint64_t) noexcept {
  const floats<Arch> w = arch::uncontracted<Arch>(v);
  const ints<Arch> t = detail::floor_to_int<Arch>(w);
  return t + arch::int_where<Arch>(w - xsimd::to_float(t) >= floats<Arch>(0.5f), 1);
}
template <class Arch>
TQ_FORCE_INLINE ints<Arch> round_with(const Stochastic& r, const floats<Arch>& v,
                                      std::uint64_t index) noexcept {
  using U = xsimd::batch<std::uint32_t, Arch>;
  constexpr std::size_t n = floats<Arch>::size;
  alignas(64) std::uint32_t hashed[n];
  alignas(64) std::int32_t draws[n];
  // Keys depend on the high half of the index, which may change inside a batch.
  const tq::detail::DrawKeys k = tq::detail::draw_keys(r.seed, index);
  const bool one_key = (index >> 32) == ((index + n - 1) >> 32);
  for (std::size_t i = 0; i < n; ++i) hashed[i] = (static_cast<std::uint32_t>(index + i)) ^ k.first;
  U h = detail::mix32<Arch>(detail::mix32<Arch>(U::load_aligned(hashed)) + U(k.second)) >> 8;
  h.store_aligned(hashed);
  for (std::size_t i = 0; i < n; ++i)
    draws[i] = one_key
                   ? static_cast<std::int32_t>(hashed[i])
                   : static_cast<std::int32_t>(tq::detail::uniform(r.seed, index + i) * 0x1p24f);
  const floats<Arch> u = xsimd::to_float(ints<Arch>::load_aligned(draws)) * floats<Arch>(0x1p-24f);
  const floats<Arch> w = arch::uncontracted<Arch>(v);
  const ints<Arch> t = detail::floor_to_int<Arch>(w);
  return t + arch::int_where<Arch>(w - xsimd::to_float(t) > u, 1);
}

/// A rounding of the user's own: lane by lane.
template <class Arch, Rounding R>
TQ_FORCE_INLINE ints<Arch> round_with(const R& rounding, const floats<Arch>& v,
                                      std::uint64_t index) noexcept {
  alignas(64) float lanes[floats<Arch>::size];
  v.store_aligned(lanes);
  for (std::size_t i = 0; i < floats<Arch>::size; ++i) lanes[i] = rounding(lanes[i], index + i);
  return arch::truncate_to_int<Arch>(floats<Arch>::load_aligned(lanes));
}

#endif

}  // namespace tq::kernels

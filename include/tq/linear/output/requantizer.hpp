// SPDX-License-Identifier: MIT
#pragma once
// Requantizer: the rule by which a sum of products times a factor becomes an integer. Peers have
// different rules, which disagree by one code at and near ties; each is one struct.

#include <tq/arch/batch.hpp>

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace tq {

/// How a sum becomes a code before its zero point is added. `factor(x, w, y)` is what the scales of
/// x, of weights and of the output make of it, in the peer's arithmetic; `make(factor)` may throw
/// `errc::bad_scale`; `apply(sum, m)` is the rounded product, as far as 32 bits reach. Biases are
/// added to sums before, unless R has `apply(sum, m, bias)` for float32: see `RequantizeTorch`.
/// Smallest model: `RequantizeFloat`.
template <class R>
concept Requantizer =
    requires(float scale, double factor, std::int32_t sum, const typename R::multiplier& m) {
      { R::factor(scale, scale, scale) } -> std::same_as<double>;
      { R::make(factor) } -> std::same_as<typename R::multiplier>;
      { R::apply(sum, m) } -> std::same_as<std::int32_t>;
    };

/// Requantizers that add biases of float32, in steps of the sums.
template <class R>
concept FloatBiasRequantizer =
    Requantizer<R> && requires(float bias, std::int32_t sum, const typename R::multiplier& m) {
      { R::bias(bias, bias, bias, true) } -> std::same_as<float>;
      { R::apply(sum, m, bias) } -> std::same_as<std::int32_t>;
    };

#if TQ_HAS_SIMD
/// Requantizers that have `apply` for lanes of sums, with a multiplier for each, and where R adds
/// biases of float32, one of these.
template <class R, class Arch>
concept LaneRequantizer = Requantizer<R> &&(
    requires(const typename R::multiplier* m, const arch::ints<Arch>& sums) {
      { R::template lanes<Arch>(sums, m) } -> std::same_as<arch::ints<Arch>>;
    } ||
    requires(const typename R::multiplier* m, const float* bias, const arch::ints<Arch>& sums) {
      { R::template lanes<Arch>(sums, m, bias) } -> std::same_as<arch::ints<Arch>>;
    });
#else
template <class R, class Arch>
concept LaneRequantizer = false;
#endif

namespace detail {
template <class R>
using bias_of = std::conditional_t<FloatBiasRequantizer<R>, float, std::int32_t>;
}  // namespace detail

}  // namespace tq

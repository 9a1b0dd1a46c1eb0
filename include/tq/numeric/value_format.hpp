// SPDX-License-Identifier: MIT
#pragma once
// The interface of number formats whose codes are names of real values.

#include <tq/numeric/overflow.hpp>
#include <tq/numeric/rounding.hpp>

#include <concepts>
#include <cstdint>

namespace tq {

/// A format of at most 16 bits: `encode` gives the code of a real value, right-aligned, `decode`
/// the value of a code. Smallest model:
///
///     struct sign_bit {  // +1 and -1
///       static constexpr int bits = 1;
///       static constexpr bool has_nan = false;
///       static constexpr float max_finite = 1.0f;
///       template <tq::OverflowPolicy O, tq::Rounding R>
///       static constexpr std::uint32_t encode(float x, const R&, std::uint64_t) noexcept { return
///       x < 0 ? 1 : 0; } static constexpr float decode(std::uint32_t code) noexcept { return code
///       != 0 ? -1.0f : 1.0f; }
///     };
template <class F>
concept ValueFormat =
    requires(float x, std::uint32_t code, const NearestEven& r, std::uint64_t index) {
      requires F::bits >= 1 && F::bits <= 16;
      { F::has_nan } -> std::convertible_to<bool>;
      { F::max_finite } -> std::convertible_to<float>;
      { F::template encode<Saturate>(x, r, index) } noexcept -> std::same_as<std::uint32_t>;
      { F::decode(code) } noexcept -> std::same_as<float>;
    };

/// A format that can round by `R`: grids can, code books cannot.
template <class F, class R>
concept RoundsBy =
    ValueFormat<F> && Rounding<R> && requires(float x, const R& r, std::uint64_t index) {
      { F::template encode<Saturate>(x, r, index) } noexcept -> std::same_as<std::uint32_t>;
    };

}  // namespace tq

// SPDX-License-Identifier: MIT
#pragma once
// What a chosen range means to parameters.

#include <tq/calibrate/concepts.hpp>

#include <algorithm>
#include <cstdint>

namespace tq {

namespace detail {

/// What of a range decides on the scale.
enum class Decides : std::uint8_t {
  ends,       ///< both, and 0 is between them
  magnitude,  ///< the larger one of the ends
  top,        ///< the upper end: what is negative becomes 0
};

template <class Symmetry>
inline constexpr bool by_magnitude = !Symmetry::has_zero_point;
template <>
inline constexpr bool by_magnitude<SymmetricHalf> = true;
template <>
inline constexpr bool by_magnitude<SymmetricHalfDown> = true;

template <AnyParams Params>
inline constexpr Decides decides =
    !by_magnitude<typename Params::symmetry_type>                                ? Decides::ends
    : IntegerParams<Params> && !Params::has_zero_point && Params::codes.min >= 0 ? Decides::top
                                                                                 : Decides::magnitude;

/// The length that the codes have to cover on one or both sides of 0; ranges with 0 leave them nothing to tell apart.
[[nodiscard]] constexpr double covered(Range r, Decides by) noexcept {
  const double top = std::max(double(r.max), 0.0), bottom = std::max(-double(r.min), 0.0);
  return by == Decides::ends ? top + bottom : by == Decides::top ? top : std::max(top, bottom);
}

}  // namespace detail

/// An accumulator whose range can become one of `Params`: one of magnitudes does not know where an asymmetric range
/// begins.
template <class Acc, class Params>
concept RangeFor = RangeAccumulator<Acc> && AnyParams<Params> &&
    !(detail::decides<Params> == detail::Decides::ends && requires { requires Acc::is_absolute; });

}  // namespace tq

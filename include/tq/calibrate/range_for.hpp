// SPDX-License-Identifier: MIT
#pragma once
// The meaning of a chosen range for parameters.

#include <tq/calibrate/concepts.hpp>

#include <algorithm>
#include <cstdint>

namespace tq {

namespace detail {

/// The part of a range that decides on the scale.
enum class Decides : std::uint8_t {
  ends,       ///< both, and 0 is between them
  width,      ///< both, wherever 0 is
  magnitude,  ///< the larger one of the ends
  top,        ///< the upper end: negative values become 0
};

template <class Symmetry>
inline constexpr bool by_magnitude = !Symmetry::has_zero_point;
template <>
inline constexpr bool by_magnitude<SymmetricHalf> = true;
template <>
inline constexpr bool by_magnitude<SymmetricHalfDown> = true;

template <AnyParams Params>
inline constexpr Decides decides =
    OffsetParams<Params>                            ? Decides::width
    : !by_magnitude<typename Params::symmetry_type> ? Decides::ends
    : IntegerParams<Params> && !Params::has_zero_point && Params::codes.min >= 0
        ? Decides::top
        : Decides::magnitude;

/// The length that the codes have to cover, on one or both sides of 0; ranges with 0 leave them
/// nothing to tell apart.
[[nodiscard]] constexpr double covered(Range r, Decides by) noexcept {
  if (by == Decides::width) return double(r.max) - double(r.min);
  const double top = std::max(double(r.max), 0.0), bottom = std::max(-double(r.min), 0.0);
  return by == Decides::ends ? top + bottom : by == Decides::top ? top : std::max(top, bottom);
}

struct Moments {
  double mean, variance;
};
/// Moments of the values other than 0, if the number of zeros is known: every quantizer without an
/// offset keeps zeros.
template <MomentAccumulator Acc>
[[nodiscard]] Moments moments_without_zeros(const Acc& seen, Decides by = Decides::ends) {
  const Moments all{seen.mean(), seen.variance()};
  if (by == Decides::width) return all;
  if constexpr (requires {
                  seen.zero_count();
                  seen.nan_count();
                  seen.infinite_count();
                  seen.count();
                }) {
    const auto finite =
        static_cast<double>(seen.count() - seen.nan_count() - seen.infinite_count());
    const double rest = finite - static_cast<double>(seen.zero_count());
    if (rest == finite || !(rest > 0)) return all;
    const double mean = all.mean * (finite / rest);
    return {mean,
            std::max((all.variance + all.mean * all.mean) * (finite / rest) - mean * mean, 0.0)};
  } else {
    return all;
  }
}

}  // namespace detail

/// An accumulator whose range can become one of `Params`: one of magnitudes does not know where an
/// asymmetric range begins.
template <class Acc, class Params>
concept RangeFor = RangeAccumulator<Acc> && AnyParams<Params> &&
                   !((detail::decides<Params> == detail::Decides::ends ||
                      detail::decides<Params> == detail::Decides::width) &&
                     requires { requires Acc::is_absolute; });
}  // namespace tq

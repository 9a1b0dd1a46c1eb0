// SPDX-License-Identifier: MIT
#pragma once
// ScaleFit: how ranges become scales, as values.

#include <tq/core/affine_for.hpp>
#include <tq/core/detail/block_reach.hpp>
#include <tq/core/detail/scale_limits.hpp>
#include <tq/core/element.hpp>
#include <tq/core/symmetry.hpp>
#include <tq/numeric/numerics.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace tq {

/// The scales that an element, a symmetry and numerics give the ranges of blocks. It is a value and
/// no type, so that a way to store scales is compiled once and not for every element.
struct ScaleFit {
  ScaleRules rules;
  detail::CodeReach reach;                        ///< what the codes of a block must reach
  void (*exact)(std::span<const Range>, float*);  ///< writes the scales before they are stored
  void (*exact_with_zeros)(std::span<const Range>,
                           float*);  ///< the same, 0 for blocks of zeros where it may be
  void (*powers)(std::span<const Range>,
                 std::uint8_t*);  ///< writes scales as powers of two, codes of E8M0
};

namespace detail {

inline constexpr std::size_t stretch = 1024;

// Calls f(first, some) for stretches of the ranges: what is made of one on the way stays in the
// cache.
template <class F>
void for_each_stretch(std::span<const Range> ranges, F&& f) {
  for (std::size_t i = 0; i < ranges.size(); i += stretch)
    f(i, ranges.subspan(i, std::min(stretch, ranges.size() - i)));
}

// The scale of every range, by symmetry and numerics.
template <class T, class S, NumericsPolicy N>
void exact_scales(std::span<const Range> ranges, float* to) {
  for (const Range r : ranges) {
    if constexpr (OffsetSymmetry<S>) *to++ = scale_for<T, S, N>(r);
    else *to++ = affine_for<T, S, N>(r).scale;
  }
}

// N, with the scale 0 for blocks of zeros in place of `ScaleOne`, where T may have it.
template <Element T, NumericsPolicy N>
using with_zeros = with_degenerate<
    N, std::conditional_t<CodedElement<T> && std::same_as<typename N::degenerate_type, ScaleOne>,
                          ScaleZero, typename N::degenerate_type>>;

// The powers of two by `Rule` of what `tops` writes for each range, a stretch at a time: first all
// of these, then all codes, in loops for vectors.
template <ExponentRule Rule, class F, class Top>
void power_codes_of(std::span<const Range> ranges, std::uint8_t* to, auto&& tops) {
  for_each_stretch(ranges, [&](std::size_t first, std::span<const Range> some) {
    Top top[stretch];
    tops(some, top);
    std::uint8_t* const codes = to + first;  // a copy, which stores cannot alias
    for (std::size_t i = 0; i < some.size(); ++i)
      codes[i] = static_cast<std::uint8_t>(exponent_code<Rule, F>(top[i]));
  });
}
// Scales by the length that codes must reach, by format and by whether there are zero points; many
// elements share it.
template <ExponentRule Rule, class F, bool BothSides>
void power_codes(std::span<const Range> ranges, std::uint8_t* to) {
  using Top = decltype(reach<BothSides>(Range{}));
  power_codes_of<Rule, F, Top>(ranges, to, [](std::span<const Range> some, Top* top) {
    for (std::size_t i = 0; i < some.size(); ++i) top[i] = reach<BothSides>(some[i]);
  });
}
// Scales of code books, by their exact scales.
template <ExponentRule Rule, class T, class S, NumericsPolicy N>
void power_codes_of_scales(std::span<const Range> ranges, std::uint8_t* to) {
  power_codes_of<Rule, rule_scale, float>(ranges, to, &exact_scales<T, S, N>);
}

template <class T, class S, NumericsPolicy N>
[[nodiscard]] constexpr auto power_codes_for() noexcept {
  using Rule = typename N::exponent_rule;
  using F = typename rule_format<T, S>::type;
  if constexpr (std::same_as<F, rule_scale>)
    return &power_codes_of_scales<Rule, T, S, affine_numerics<N>>;
  else return &power_codes<Rule, F, S::has_zero_point>;
}

}  // namespace detail

/// That of element T under symmetry S and numerics N.
template <Element T, class S, NumericsPolicy N>
inline constexpr ScaleFit scale_fit{
    scale_rules<T, S, N>, detail::reach_of<T, S>,
    &detail::exact_scales<T, S, detail::affine_numerics<N>>,
    &detail::exact_scales<T, S, detail::with_zeros<T, detail::affine_numerics<N>>>,
    detail::power_codes_for<T, S, N>()};

}  // namespace tq

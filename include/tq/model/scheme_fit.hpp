// SPDX-License-Identifier: MIT
#pragma once
// SchemeFit: how ranges become scales and zero points, as values: what stores scales is not
// compiled for every element.

#include <tq/core/block_reach.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/core/scale_limits.hpp>
#include <tq/core/scales.hpp>
#include <tq/model/quant_spec.hpp>
#include <tq/model/type_list.hpp>
#include <tq/model/visit.hpp>
#include <tq/numeric/exponent_format.hpp>

#include <array>
#include <concepts>
#include <cstdint>
#include <span>
#include <vector>

namespace tq::detail {

// What an element, a symmetry and numerics make of the ranges of blocks.
struct SchemeFit {
  ScaleRules rules;
  CodeReach reach;
  // Scales before they are stored; the second has the scale 0 for blocks of zeros.
  std::vector<float> (*exact)(std::span<const Range>);
  std::vector<float> (*exact_with_zeros)(std::span<const Range>);
  // The powers of two that scales of exponents are; null where they are made of exact scales.
  void (*powers)(std::span<const Range>, std::span<std::uint8_t>);
  // For the scales as they are stored; null where there are none.
  std::vector<std::int32_t> (*zero_points)(std::span<const Range>, std::span<const float>);
};

template <class T, class S, NumericsPolicy N>
[[nodiscard]] constexpr SchemeFit make_scheme_fit() {
  static_assert(std::same_as<typename N::exponent_rule, ExponentFloor>);
  using Plain = affine_numerics<N>;
  SchemeFit fit{scale_rules<T, S, N>,
                reach_of<T, S>,
                &exact_scales<T, S, Plain>,
                &exact_scales<T, S, with_zeros<T, Plain>>,
                nullptr,
                nullptr};
  if constexpr (!by_exact_scale<T, S>)
    fit.powers = &power_codes<ExponentFloor, typename rule_format<T, S>::type, S::has_zero_point>;
  if constexpr (S::has_zero_point)
    fit.zero_points = [](std::span<const Range> ranges, std::span<const float> scales) {
      return zero_points_for<T, S, Plain>(ranges, scales);
    };
  return fit;
}

// In the order of the presets.
template <class T, class S, class... Presets>
[[nodiscard]] constexpr std::array<SchemeFit, sizeof...(Presets)> make_scheme_fits(
    TypeList<Presets...>) {
  return {make_scheme_fit<T, S, typename Presets::type>()...};
}
template <class T, class S>
inline constexpr auto scheme_fits = make_scheme_fits<T, S>(all_numerics{});

// Throws: as `visit`.
template <class Types>
[[nodiscard]] const SchemeFit& scheme_fit(const QuantSpec& spec) {
  const SchemeFit* fits = visit_type<Types>(
      spec, []<class T, class S>() -> const SchemeFit* { return scheme_fits<T, S>.data(); });
  return fits[position_of(all_numerics{}, spec.numerics)];
}

}  // namespace tq::detail

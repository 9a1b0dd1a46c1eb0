// SPDX-License-Identifier: MIT
#pragma once
// ParamsFit: how ranges become scales, and zero points or offsets, for a scheme that is a value.

#include <tq/core/detail/scale_fit.hpp>
#include <tq/core/detail/scale_limits.hpp>
#include <tq/core/fit_params.hpp>
#include <tq/core/offsets.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/core/scales.hpp>
#include <tq/core/zero_points.hpp>
#include <tq/scheme/detail/stored_numbers.hpp>
#include <tq/scheme/encoded_layout.hpp>
#include <tq/scheme/quant_spec.hpp>
#include <tq/scheme/type_list.hpp>
#include <tq/scheme/visit.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace tq::detail {

// Makes parameters of the ranges of blocks, for an element, a symmetry and numerics: `fit_params`
// by parts, so that the storage of scales is not compiled for every element.
struct ParamsFit {
  ScaleFit scales;
  // For the scales as they are stored; null where there are none.
  StoredNumbers<std::int32_t> (*zero_points)(std::span<const Range>, const StoredNumbers<float>&);
  const OffsetFit* offsets;
};

template <class T, class S, NumericsPolicy N>
[[nodiscard]] constexpr ParamsFit make_params_fit() {
  using Plain = affine_numerics<N>;
  ParamsFit fit{scale_fit<T, S, N>, nullptr, nullptr};
  if constexpr (S::has_zero_point)
    fit.zero_points = [](std::span<const Range> ranges, const StoredNumbers<float>& scales) {
      return StoredNumbers<std::int32_t>(
          ZeroPoints<T>(zero_points_for<T, S, Plain>(ranges, scales)));
    };
  if constexpr (OffsetSymmetry<S>) fit.offsets = &offset_fit<T, S, Plain>;
  return fit;
}

// In the order of the presets.
template <class T, class S, class... Presets>
[[nodiscard]] constexpr std::array<ParamsFit, sizeof...(Presets)> make_params_fits(
    TypeList<Presets...>) {
  return {make_params_fit<T, S, typename Presets::type>()...};
}
template <class T, class S>
inline constexpr auto params_fits = make_params_fits<T, S>(all_numerics{});

// Throws: as `visit`.
template <class Types>
[[nodiscard]] const ParamsFit& params_fit(const QuantSpec& spec) {
  const ParamsFit* fits = visit_type<Types>(
      spec, []<class T, class S>() -> const ParamsFit* { return params_fits<T, S>.data(); });
  return fits[position_of(all_numerics{}, spec.numerics)];
}

// The scales that fit `ranges`; super-blocks know whether offsets stand beside them.
template <ScaleType Scale>
[[nodiscard]] Scales<Scale> scales_for(std::span<const Range> ranges, const ParamsFit& fit) {
  if constexpr (requires { Scales<Scale>::fit_beside_offsets(ranges, fit.scales); })
    if (fit.offsets != nullptr) return Scales<Scale>::fit_beside_offsets(ranges, fit.scales);
  return Scales<Scale>::fit(ranges, fit.scales);
}

// Sets the parameters of `tensor` to those that fit one range per block.
template <class Types, class ScaleTypes>
void fit_parameters(EncodedTensor& tensor, std::span<const Range> ranges) {
  const ParamsFit& fit = params_fit<Types>(tensor.spec);
  tensor.zero_points = {};
  tensor.offsets = {};
  visit_scale<ScaleTypes>(tensor.spec, [&]<class Scale>() {
    auto scales = scales_for<Scale>(ranges, fit);
    if constexpr (OffsetType<Scale>)
      if (fit.offsets != nullptr)
        tensor.offsets = offsets_for<Scale>(ranges, scales.values(), *fit.offsets);
    tensor.scales = std::move(scales);
  });
  if (fit.zero_points != nullptr) tensor.zero_points = fit.zero_points(ranges, tensor.scales);
}

}  // namespace tq::detail

// SPDX-License-Identifier: MIT
#pragma once
// set_scales: codes under other scales.

#include <tq/core/make_params.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/core/quantized_tensor.hpp>

#include <concepts>
#include <cstdint>
#include <utility>
#include <vector>

namespace tq::detail {

/// True if every scale of these parameters is a number of its own: float32 or a small float.
template <AnyParams Params>
inline constexpr bool has_own_scales =
    std::same_as<typename Params::scale_type, float> || CodedElement<typename Params::scale_type>;

/// The parameters of `params` with other scales, rounded to be stored. Precondition: positive
/// finite scales, one for each parameter.
template <AnyParams Params>
  requires(has_own_scales<Params> && !Params::has_offset)
[[nodiscard]] Params with_scales(const Params& params, std::vector<float> scales) {
  using Scale = typename Params::scale_type;
  const auto stored = [&] {
    if constexpr (std::same_as<Scale, float>) return Scales<float>(std::move(scales));
    else return Scales<Scale>::nearest(scales);
  };
  std::vector<std::int32_t> zero_points;
  if constexpr (Params::has_zero_point)
    zero_points.assign(params.zero_points().begin(), params.zero_points().end());
  return make_params<Params>(params.granularity(), stored(), zero_points);
}

}  // namespace tq::detail

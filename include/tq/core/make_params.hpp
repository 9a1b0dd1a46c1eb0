// SPDX-License-Identifier: MIT
#pragma once
// make_params: parameters of any granularity from scales and zero points or offsets.

#include <tq/core/quant_params.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace tq {

/// QuantParams of a granularity with one entry per parameter: the constructor every granularity
/// has. Throws: what the constructors of `QuantParams` throw; `errc::shape_mismatch` when a
/// per-tensor granularity gets more or fewer than one scale.
template <AnyParams Params>
  requires(!OffsetParams<Params>)
[[nodiscard]] Params make_params(const typename Params::granularity_type& granularity,
                                 Scales<typename Params::scale_type> scales,
                                 const std::vector<std::int32_t>& zero_points = {}) {
  if constexpr (Params::is_inline) {
    if (scales.values().size() != 1 || (Params::has_zero_point && zero_points.size() != 1))
      detail::raise_expected(errc::shape_mismatch, "tq::make_params",
                             {"one scale (and zero point) per tensor"},
                             {scales.values().size(), " and ", zero_points.size()});
    if constexpr (Params::has_zero_point) return Params(scales.values()[0], zero_points[0]);
    else return Params(scales.values()[0]);
  } else if constexpr (Params::has_zero_point) {
    return Params(granularity, std::move(scales), zero_points);
  } else {
    return Params(granularity, std::move(scales));
  }
}
template <OffsetParams Params>
[[nodiscard]] Params make_params(const typename Params::granularity_type& granularity,
                                 Scales<typename Params::scale_type> scales,
                                 Offsets<typename Params::scale_type> offsets) {
  if constexpr (Params::is_inline) {
    if (scales.values().size() != 1 || offsets.values().size() != 1)
      detail::raise_expected(errc::shape_mismatch, "tq::make_params",
                             {"one scale and offset per tensor"},
                             {scales.values().size(), " and ", offsets.values().size()});
    return Params(scales.values()[0], offsets.values()[0]);
  } else {
    return Params(granularity, std::move(scales), std::move(offsets));
  }
}

}  // namespace tq

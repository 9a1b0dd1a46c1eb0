// SPDX-License-Identifier: MIT
#pragma once
// fit_params: the parameters that fit ranges of values.

#include <tq/core/affine_for.hpp>
#include <tq/core/make_params.hpp>
#include <tq/core/quant_params.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tq {

namespace detail {
// One per range where S has zero points, for the scales as they are stored.
template <class T, class S, NumericsPolicy N>
[[nodiscard]] std::vector<std::int32_t> zero_points_for(std::span<const Range> ranges,
                                                        const auto& scales) {
  std::vector<std::int32_t> out;
  if constexpr (S::has_zero_point) {
    out.resize(ranges.size());
    for (std::size_t i = 0; i < ranges.size(); ++i)
      out[i] = zero_point_for<T, S, N>(ranges[i], scales[i]);
  }
  return out;
}
}  // namespace detail

/// The parameters that fit one range per block: scales as the symmetry and the numerics have them,
/// rounded to be stored, and zero points or offsets for the stored scales. Throws:
/// `errc::bad_scale` under `ScaleRaises`; `errc::shape_mismatch` when a per-tensor granularity gets
/// more or fewer than one range.
template <AnyParams Params, NumericsPolicy N = numerics_of<Params>, class Encode = EncodeOneByOne>
[[nodiscard]] Params fit_params(const typename Params::granularity_type& granularity,
                                std::span<const Range> ranges) {
  using T = typename Params::type;
  using S = typename Params::symmetry_type;
  auto scales = Scales<typename Params::scale_type>::template fit<T, S, N, Encode>(ranges);
  if constexpr (OffsetParams<Params>) {
    auto offsets = offsets_for<T, S, N, typename Params::scale_type>(ranges, scales.values());
    return make_params<Params>(granularity, std::move(scales), std::move(offsets));
  } else {
    const auto zero_points = detail::zero_points_for<T, S, N>(ranges, scales.values());
    return make_params<Params>(granularity, std::move(scales), zero_points);
  }
}

/// Scale, as it is stored and computed with, and zero point (0 where there is none) that fit one
/// range by itself. Scales of two levels may come out otherwise among others. Throws:
/// `errc::bad_scale` under `ScaleRaises`.
template <AnyParams Params, NumericsPolicy N = numerics_of<Params>>
  requires(!OffsetParams<Params>)
[[nodiscard]] Affine fit_affine(Range range) {
  using T = typename Params::type;
  using S = typename Params::symmetry_type;
  if constexpr (std::same_as<typename Params::scale_type, float>) {
    return affine_for<T, S, N>(range);
  } else {
    const auto scales = Scales<typename Params::scale_type>::template fit<T, S, N>({&range, 1});
    const float scale = scales.values()[0];
    if constexpr (S::has_zero_point) return {scale, detail::zero_point_for<T, S, N>(range, scale)};
    else return {scale, 0};
  }
}

/// Scale and offset, as they are stored, that fit one range by itself. Throws: as above.
template <OffsetParams Params, NumericsPolicy N = numerics_of<Params>>
[[nodiscard]] OffsetAffine fit_affine(Range range) {
  using T = typename Params::type;
  using S = typename Params::symmetry_type;
  using Stored = typename Params::scale_type;
  const std::span<const Range> ranges(&range, 1);
  const auto scales = Scales<Stored>::template fit<T, S, N>(ranges);
  const auto offsets = offsets_for<T, S, N, Stored>(ranges, scales.values());
  return {scales.values()[0], offsets.values()[0]};
}

}  // namespace tq

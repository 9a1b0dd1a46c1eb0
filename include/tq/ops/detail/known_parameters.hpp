// SPDX-License-Identifier: MIT
#pragma once
// known_parameters: what the type of parameters says to kernels.

#include <tq/core/granularity.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/driver/known_parameters.hpp>

#include <cstddef>

namespace tq::detail {

template <class Gran>
inline constexpr std::size_t group_of = 0;
template <int Size, int Axis>
  requires(Size > 0)
inline constexpr std::size_t group_of<PerGroup<Size, Axis>> = Size;

// Known of a sweep over a tensor with these parameters, or over a part of it.
template <AnyParams Params>
inline constexpr driver::KnownParameters known_parameters{
    .is_one = Params::is_per_tensor,
    .group = group_of<typename Params::granularity_type>,
    .has_origins = Params::has_zero_point || Params::has_offset,
    .lacks_origins = !(Params::has_zero_point || Params::has_offset)};

}  // namespace tq::detail

// SPDX-License-Identifier: MIT
#pragma once
// divided_hessian: the Hessian of inputs that are divided by scales.

#include <tq/ptq/detail/made_hessian.hpp>
#include <tq/ptq/detail/require_input_scales.hpp>
#include <tq/ptq/factor.hpp>
#include <tq/ptq/float_hessian.hpp>

#include <cstddef>
#include <span>

namespace tq {

/// The mean products of inputs that are divided by `scales`, one for each, as `migrate` divides
/// them: no activation has to be seen again. Throws:
/// `errc::shape_mismatch` for other inputs; `errc::bad_scale` unless scales are positive and
/// finite.
template <HessianMatrix H>
[[nodiscard]] FloatHessian divided_hessian(const H& h, std::span<const float> scales) {
  detail::require_input_scales("tq::divided_hessian", scales, h.inputs());
  return detail::made_hessian(h, [&](std::size_t i, std::size_t j) {
    return h(i, j) / static_cast<double>(scales[i]) / static_cast<double>(scales[j]);
  });
}

}  // namespace tq

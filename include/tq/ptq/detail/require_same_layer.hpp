// SPDX-License-Identifier: MIT
#pragma once
// require_same_layer: weights, their Hessian and its factor, and codes that belong together.

#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/ptq/detail/require_weights.hpp>
#include <tq/ptq/factor.hpp>

#include <string>

namespace tq::detail {

/// Throws: `errc::shape_mismatch` unless `weights` are of shape [outputs, inputs], with the inputs
/// of `h` and `factor`; `errc::not_finite` for NaN or infinite weights.
template <HessianMatrix H>
void require_same_layer(const char* function, const ConstTensorView& weights, const H& h,
                        const HessianFactor& factor) {
  require_weights(function, weights, h.inputs());
  if (factor.inputs() != h.inputs())
    raise(errc::shape_mismatch, std::string(function) + ": expected a factor of " +
                                    std::to_string(h.inputs()) + " inputs, got " +
                                    std::to_string(factor.inputs()));
}

/// The same for codes of shape `codes`.
template <HessianMatrix H>
void require_same_layer(const char* function, const ConstTensorView& weights, const H& h,
                        const HessianFactor& factor, const Shape& codes) {
  require_same_layer(function, weights, h, factor);
  if (codes != weights.shape())
    raise(errc::shape_mismatch, std::string(function) + ": expected codes of shape " +
                                    to_string(weights.shape()) + ", got " + to_string(codes));
}

}  // namespace tq::detail

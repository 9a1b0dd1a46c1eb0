// SPDX-License-Identifier: MIT
#pragma once
// require_same_layer: weights, their Hessian and its factor, and codes that belong together.

#include <tq/core/detail/expectations.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/ptq/detail/require_weights.hpp>
#include <tq/ptq/factor.hpp>
#include <tq/ptq/factor_stack.hpp>
#include <tq/ptq/hessian_stack.hpp>

namespace tq::detail {

/// Throws: `errc::shape_mismatch` unless codes have the shape of weights.
inline void require_codes(const char* function, const Shape& weights, const Shape& codes) {
  require_shape(function, "codes", weights, codes);
}

/// Throws: `errc::shape_mismatch` unless `weights` are of shape [outputs, inputs], with the inputs
/// of `h` and `factor`; `errc::not_finite` for NaN or infinite weights.
template <HessianMatrix H>
void require_same_layer(const char* function, const ConstTensorView& weights, const H& h,
                        const HessianFactor& factor) {
  require_weights(function, weights, h.inputs());
  if (factor.inputs() != h.inputs())
    raise_expected(errc::shape_mismatch, function, {"a factor of ", h.inputs(), " inputs"},
                   {factor.inputs()});
}

/// The same for codes of shape `codes`.
template <HessianMatrix H>
void require_same_layer(const char* function, const ConstTensorView& weights, const H& h,
                        const HessianFactor& factor, const Shape& codes) {
  require_same_layer(function, weights, h, factor);
  require_codes(function, weights.shape(), codes);
}

/// Throws: `errc::shape_mismatch` for factors of other groups or other inputs than `h`.
template <HessianMatrix H>
void require_same_groups(const char* function, const HessianStack<H>& h,
                         const FactorStack& factors) {
  if (factors.groups() != h.groups() || factors.inputs() != h.inputs())
    raise_expected(errc::shape_mismatch, function,
                   {"factors of ", h.groups(), " groups of ", h.inputs(), " inputs"},
                   {factors.groups(), " of ", factors.inputs()});
}

}  // namespace tq::detail

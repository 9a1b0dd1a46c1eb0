// SPDX-License-Identifier: MIT
#pragma once
// The clipped straight-through estimator: the gradient of fake_quantize with respect to its input.

#include <tq/ops/parts.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace tq {

namespace detail {

// Calls f(source offset, target offset, parameter) for every element.
template <Executor E, class F>
void for_each_pair(const E& executor, const Shape& shape, const Shape& block, const Strides& source,
                   const Strides& target, F&& f) {
  for_each_task(executor, shape, block, source, target, [&](auto&& each) {
    each([&](const Run& r) {
      for (std::size_t k = 0; k < r.count; ++k) {
        const auto row = static_cast<std::ptrdiff_t>(k);
        const std::ptrdiff_t s = r.source + row * r.source_stride;
        const std::ptrdiff_t t = r.target + row * r.target_stride;
        const std::size_t p = r.param + k * r.param_stride;
        for (std::size_t i = 0; i < r.length; ++i) {
          const auto at = static_cast<std::ptrdiff_t>(i);
          f(s + at, t + at, p + i * r.step);
        }
      }
    });
  });
}

}  // namespace detail

/// The gradient of fake_quantize(x, params, numerics) with respect to x, given that of its output:
///     grad_x = grad_y where qmin <= round(scaling(x, s)) + z <= qmax (before clamping), else 0.
/// NaN and infinities in x give 0. A stochastic rounding draws what fake_quantize drew where
/// `grad_x` has the strides of its output. `grad_x` may be `grad_y`, but must not overlap `x`.
/// Preconditions: `params.check(x.shape()) == errc::ok`, the shapes are equal.
/// Source: Bengio, Leonard, Courville 2013, arXiv:1308.3432; torch.fake_quantize_per_tensor_affine.
template <IntegerParams Params, NumericsPolicy N = numerics::onnx, Executor E = Serial>
void clipped_straight_through_unchecked(ConstTensorView x, const Params& params,
                                        ConstTensorView grad_y, TensorView<float> grad_x,
                                        const N& numerics = {}, const E& executor = {}) {
  const Shape& shape = x.shape();
  // Two passes, because runs pair two layouts and there are three.
  if (grad_y.data() != grad_x.data() || grad_y.strides() != grad_x.strides())
    detail::for_each_pair(executor, shape, PerTensor::block(shape), grad_y.strides(),
                          grad_x.strides(), [&](std::ptrdiff_t s, std::ptrdiff_t t, std::size_t) {
                            grad_x.data()[t] = grad_y.data()[s];
                          });
  detail::for_each_pair(executor, shape, params.granularity().block(shape), x.strides(),
                        grad_x.strides(), [&](std::ptrdiff_t s, std::ptrdiff_t t, std::size_t p) {
                          const Affine a = params.affine(p);
                          const auto lo = static_cast<float>(Params::codes.min - a.zero_point);
                          const auto hi = static_cast<float>(Params::codes.max - a.zero_point);
                          const float v = N::scaling_type::apply(x.data()[s], a.scale);
                          bool inside = std::isfinite(v);
                          if (inside) {
                            const float q = numerics.rounding(v, static_cast<std::uint64_t>(t));
                            inside = q >= lo && q <= hi;
                          }
                          if (!inside) grad_x.data()[t] = 0.0f;
                        });
}

/// As above, checked. `grad_y` and `grad_x` have the shape of x, or are spans of its size.
/// Throws: `errc::shape_mismatch`, `errc::bad_axis`, `errc::bad_group_size` when something does not
/// fit; `errc::not_finite` under `NanRaises`. Nothing is written then.
template <IntegerParams Params, NumericsPolicy N = numerics::onnx, Executor E = Serial>
void clipped_straight_through(ConstTensorView x, const Params& params, ConstTensorView grad_y,
                              TensorView<float> grad_x, const N& numerics = {},
                              const E& executor = {}) {
  constexpr const char* function = "tq::clipped_straight_through";
  detail::require_fit(function, params, x.shape());
  grad_y = detail::shaped(function, "an output gradient", grad_y, x.shape());
  grad_x = detail::shaped(function, "an input gradient", grad_x, x.shape());
  detail::require_no_nan<N>(function, x);
  clipped_straight_through_unchecked(x, params, grad_y, grad_x, numerics, executor);
}

}  // namespace tq

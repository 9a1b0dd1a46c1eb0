// SPDX-License-Identifier: MIT
#pragma once
// fake_quantize_backward: the gradients of fake_quantize by a gradient policy.

#include <tq/core/detail/read.hpp>
#include <tq/core/executor.hpp>
#include <tq/core/options.hpp>
#include <tq/core/readable.hpp>
#include <tq/ops/backend/on.hpp>
#include <tq/ops/detail/checks.hpp>
#include <tq/train/detail/backward_values.hpp>
#include <tq/train/gradient.hpp>
#include <tq/train/parameter_gradients.hpp>
#include <tq/train/straight_through.hpp>

#include <utility>

namespace tq {

namespace detail {

template <class Gradient, Backend B, AnyParams Params, Real X, Real Gy, Real Gx, NumericsPolicy N,
          Executor E>
ParameterGradients checked_backward(GradientTensors<X, Gy, Gx> tensors, const Params& params,
                                    const N& numerics, const E& executor) {
  constexpr const char* function = "tq::fake_quantize_backward";
  const Shape& shape = tensors.x.shape();
  require_fit(function, params, shape);
  shape_as(function, "an output gradient", tensors.gy, shape);
  shape_as(function, "an input gradient", tensors.gx, shape);
  require_no_nan<B, N>(function, tensors.x);
  ParameterGradients sums;
  backward_values<Gradient, B>(tensors, params, sums, numerics, executor);
  return sums;
}

}  // namespace detail

/// The gradients of fake_quantize(x, params, numerics), given that of its output: `grad_x` as the
/// policy `Gradient` passes it on, and in `sums` what it learns. Sums are made of pieces of a fixed
/// size, in the order in which elements lie in `grad_x`: the same bits for any executor, but not on
/// every instruction set, nor where neighbours lie apart in another tensor. A stochastic rounding
/// draws what fake_quantize drew where `grad_x` has the strides of its output. `grad_x` may be
/// `grad_y`, but must not overlap `x`. NaN and infinities in grad_y are passed on, and may make the
/// sums of their slot NaN; a NaN in x takes no part. Preconditions: `params.check(x.shape()) ==
/// errc::ok`, the shapes are equal.
template <GradientPolicy Gradient = ClippedStraightThrough, Backend B = default_backend,
          AnyParams Params, NumericsPolicy N = numerics_of<Params>, Executor E = Serial>
  requires GradientFor<Gradient, Params>
void fake_quantize_backward_unchecked(const ConstTensorView& x, const Params& params,
                                      const ConstTensorView& grad_y,
                                      const TensorView<float>& grad_x, ParameterGradients& sums,
                                      const N& numerics = {}, const E& executor = {}) {
  detail::backward_values<Gradient, B>(
      detail::GradientTensors<float, float, float>{x, grad_y, grad_x}, params, sums, numerics,
      executor);
}

/// As above, checked. `grad_y` and `grad_x` have the shape of x, or are spans of its size. Halves
/// widen exactly, float64 is rounded to float32, and `grad_x` is rounded once. Where grad_x is
/// grad_y, the two have one type. Options: numerics, an executor, a backend.
/// Throws: `errc::shape_mismatch`, `errc::bad_axis`, `errc::bad_group_size` when something does not
/// fit; `errc::not_finite` under `RaiseNan`. Nothing is written then.
template <GradientPolicy Gradient = ClippedStraightThrough, Readable X = ConstTensorView,
          AnyParams Params, Readable Gy = ConstTensorView,
          detail::RealOutput Gx = TensorView<float>, Option... O,
          Backend B = detail::backend_among<O...>>
  requires GradientFor<Gradient, Params>
ParameterGradients fake_quantize_backward(const X& x, const Params& params, const Gy& grad_y,
                                          Gx&& grad_x, const O&... options) {
  using enum detail::OptionKind;
  static_assert(!detail::is_temporary_owner<Gx>,
                "tq::fake_quantize_backward: the output is a temporary: give it a name first");
  using Out = detail::real_output_t<Gx>;
  const auto chosen = detail::choose<numerics, executor, backend>(options...);
  return detail::checked_backward<Gradient, B>(
      detail::GradientTensors<real_of<X>, real_of<Gy>, Out>{
          detail::read(x).view(), detail::read(grad_y).view(),
          detail::output<Out>(std::forward<Gx>(grad_x))},
      params, chosen.template numerics<numerics_of<Params>>(), chosen.executor());
}

// --- deprecated forms ---

template <GradientPolicy Gradient, Backend B, class... Args>
[[deprecated("tq::fake_quantize_backward: pass tq::on<B> as an option")]] ParameterGradients
fake_quantize_backward(Args&&... args) {
  return tq::fake_quantize_backward<Gradient>(std::forward<Args>(args)..., on<B>);
}
template <GradientPolicy Gradient = ClippedStraightThrough, Readable X, AnyParams Params,
          Readable Gy, detail::RealOutput Gx, Option... O, Backend B = detail::backend_among<O...>>
  requires GradientFor<Gradient, Params>
[[deprecated(
    "tq::fake_quantize_backward: leave {} out: options come in any order")]] ParameterGradients
fake_quantize_backward(const X& x, const Params& params, const Gy& grad_y, Gx&& grad_x,
                       detail::Placeholder, const O&... options) {
  return tq::fake_quantize_backward<Gradient>(x, params, grad_y, std::forward<Gx>(grad_x),
                                              options...);
}

}  // namespace tq

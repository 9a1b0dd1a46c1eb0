// SPDX-License-Identifier: MIT
#pragma once
// fake_quantize: what a tensor becomes by being quantized and dequantized, without its codes.

#include <tq/core/real_tensor.hpp>
#include <tq/ops/backend/operations.hpp>
#include <tq/ops/detail/checks.hpp>
#include <tq/ops/detail/known_parameters.hpp>
#include <tq/ops/detail/stored_planes.hpp>
#include <tq/ops/detail/sweep.hpp>

#include <concepts>
#include <vector>

namespace tq {

namespace detail {

template <Backend B, AnyParams Params, Real In, Real Out, NumericsPolicy N, Executor E>
void fake_quantize_values(const TensorView<const In>& x, const Params& params,
                          const TensorView<Out>& out, const N& numerics, const E& executor) {
  const auto operation = fake_quantizing<Params, In, Out>(numerics);
  sweep_tensor(kernel_for<B, known_parameters<Params>>(operation),
               {x.data(), x.strides(), out.data(), out.strides()}, x.shape(),
               params.granularity().block(x.shape()), all_parameters<B>(params), executor);
}

template <Backend B, AnyParams Params, Real In, Real Out, NumericsPolicy N, Executor E>
void fake_quantize_to(const TensorView<const In>& x, const Params& params, TensorView<Out>& out,
                      const N& numerics, const E& executor) {
  require_fit("tq::fake_quantize", params, x.shape());
  shape_as("tq::fake_quantize", "an output", out, x.shape());
  require_no_nan<B, N>("tq::fake_quantize", x);
  fake_quantize_values<B>(x, params, out, numerics, executor);
}

}  // namespace detail

/// Writes dequantize(quantize(x)) to `out`, bit for bit. `out` may be `x`.
/// Preconditions: `params.check(x.shape()) == errc::ok`, the shapes are equal.
template <Backend B = default_backend, AnyParams Params, NumericsPolicy N = numerics_of<Params>,
          Executor E = Serial>
void fake_quantize_unchecked(const ConstTensorView& x, const Params& params,
                             const TensorView<float>& out, const N& numerics = {},
                             const E& executor = {}) noexcept(std::same_as<E, Serial>) {
  detail::fake_quantize_values<B>(x, params, out, numerics, executor);
}

/// Writes dequantize(quantize(x)) to `out` (a span of x.size() elements, or a view of the shape of
/// x), which may be `x` itself. Halves widen exactly. Throws: `errc::shape_mismatch`,
/// `errc::bad_axis`, `errc::bad_group_size` when something does not fit; `errc::not_finite` under
/// `NanRaises`. Nothing is written then.
template <Backend B = default_backend, AnyParams Params, NumericsPolicy N = numerics_of<Params>,
          Executor E = Serial, TensorSource X = ConstTensorView>
void fake_quantize(const X& x, const Params& params, TensorView<float> out, const N& numerics = {},
                   const E& executor = {}) {
  detail::fake_quantize_to<B>(detail::view_of(x), params, out, numerics, executor);
}
/// The same to other real numbers, rounded once.
template <Backend B = default_backend, AnyParams Params, RealTensor X, Real Out,
          NumericsPolicy N = numerics_of<Params>, Executor E = Serial>
requires(!std::same_as<Out, float>) void fake_quantize(const X& x, const Params& params,
                                                       TensorView<Out> out, const N& numerics = {},
                                                       const E& executor = {}) {
  detail::fake_quantize_to<B>(detail::view_of(x), params, out, numerics, executor);
}

/// dequantize(quantize(x)), row-major.
template <Backend B = default_backend, AnyParams Params, NumericsPolicy N = numerics_of<Params>,
          Executor E = Serial>
[[nodiscard]] std::vector<float> fake_quantize(const ConstTensorView& x, const Params& params,
                                               const N& numerics = {}, const E& executor = {}) {
  detail::require_fit("tq::fake_quantize", params, x.shape());
  std::vector<float> out(x.size());
  fake_quantize<B>(x, params, TensorView<float>(out.data(), x.shape()), numerics, executor);
  return out;
}

}  // namespace tq

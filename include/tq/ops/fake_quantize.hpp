// SPDX-License-Identifier: MIT
#pragma once
// fake_quantize: what a tensor becomes by being quantized and dequantized, without its codes.

#include <tq/core/detail/read.hpp>
#include <tq/core/options.hpp>
#include <tq/core/readable.hpp>
#include <tq/ops/backend/on.hpp>
#include <tq/ops/backend/operations.hpp>
#include <tq/ops/detail/checks.hpp>
#include <tq/ops/detail/known_parameters.hpp>
#include <tq/ops/detail/stored_planes.hpp>
#include <tq/ops/detail/sweep.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

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

// The numbers of a result: those of `x` where its adapter makes the result, else float.
template <Readable X>
using fake_quantize_result = std::conditional_t<HasLike<X, real_of<X>>, real_of<X>, float>;

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

/// Writes dequantize(quantize(x)) to `out` (a span of x.size() elements, or a tensor of the shape
/// of x), which may be `x` itself. Halves widen exactly; what is not float32 in `out` is rounded
/// once. Options: numerics, an executor, a backend. Throws: `errc::shape_mismatch`,
/// `errc::bad_axis`, `errc::bad_group_size` when something does not fit; `errc::not_finite` under
/// `RaiseNan`. Nothing is written then.
template <Readable X = ConstTensorView, AnyParams Params,
          detail::RealOutput Out = TensorView<float>, class... O,
          Backend B = detail::backend_among<O...>>
void fake_quantize(const X& x, const Params& params, Out&& out, const O&... options) {
  using enum detail::OptionKind;
  static_assert(!detail::is_temporary_owner<Out>,
                "tq::fake_quantize: the output is a temporary: give it a name first");
  const auto chosen = detail::choose<numerics, executor, backend>(options...);
  auto to = detail::output<detail::real_output_t<Out>>(std::forward<Out>(out));
  detail::fake_quantize_to<B>(detail::read(x).view(), params, to,
                              chosen.template numerics<numerics_of<Params>>(), chosen.executor());
}

/// dequantize(quantize(x)): a row-major vector of float32, or of an Eigen object a matrix (array,
/// vector) of its type of numbers and storage order. Options and throws: as above.
template <Readable X = ConstTensorView, AnyParams Params, Option... O,
          Backend B = detail::backend_among<O...>>
[[nodiscard]] auto fake_quantize(const X& x, const Params& params, const O&... options) {
  using enum detail::OptionKind;
  using Result = detail::fake_quantize_result<X>;
  const auto chosen = detail::choose<numerics, executor, backend>(options...);
  const auto in = detail::read(x);
  detail::require_fit("tq::fake_quantize", params, in.view().shape());
  auto out = detail::new_like<Result>(x, in.view().size());
  auto to = detail::view_like<Result>(out, in.view().shape());
  detail::fake_quantize_to<B>(in.view(), params, to,
                              chosen.template numerics<numerics_of<Params>>(), chosen.executor());
  return out;
}

// --- deprecated forms ---

template <Backend B, class... Args>
[[deprecated("tq::fake_quantize: pass tq::on<B> as an option")]] decltype(auto) fake_quantize(
    Args&&... args) {
  return tq::fake_quantize(std::forward<Args>(args)..., on<B>);
}
template <Readable X, AnyParams Params, Option... O, Backend B = detail::backend_among<O...>>
[[deprecated("tq::fake_quantize: leave {} out: options come in any order")]] auto fake_quantize(
    const X& x, const Params& params, detail::Placeholder, const O&... options) {
  return tq::fake_quantize(x, params, options...);
}
template <Readable X, AnyParams Params, detail::RealOutput Out, Option... O,
          Backend B = detail::backend_among<O...>>
[[deprecated("tq::fake_quantize: leave {} out: options come in any order")]] void fake_quantize(
    const X& x, const Params& params, Out&& out, detail::Placeholder, const O&... options) {
  tq::fake_quantize(x, params, std::forward<Out>(out), options...);
}

}  // namespace tq

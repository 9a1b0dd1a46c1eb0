// SPDX-License-Identifier: MIT
#pragma once
// quantize: tensors of real numbers to codes: clamp(round(x / scale) + zero point) of integers, the
// code of x / scale of the others.

#include <tq/core/buffer.hpp>
#include <tq/core/detail/mistakes.hpp>
#include <tq/core/detail/read.hpp>
#include <tq/core/options.hpp>
#include <tq/core/packing.hpp>
#include <tq/core/quantized_tensor.hpp>
#include <tq/core/readable.hpp>
#include <tq/ops/backend/on.hpp>
#include <tq/ops/backend/operations.hpp>
#include <tq/ops/detail/checks.hpp>
#include <tq/ops/detail/known_parameters.hpp>
#include <tq/ops/detail/stored_planes.hpp>
#include <tq/ops/detail/sweep.hpp>
#include <tq/ops/pack.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

namespace tq {

namespace detail {

// The code of every element of `x` to the same place of `codes`, of Pack and those strides. Blocks
// of shape `block` have a parameter each.
template <Backend B, AnyParams Params, Packing Pack, Real In, NumericsPolicy N, Executor E>
void quantize_codes(const TensorView<const In>& x, const Shape& block,
                    const driver::Parameters& params, void* codes, const Strides& strides,
                    const N& numerics, const E& executor) {
  const auto operation = quantizing<Params, In, Pack>(numerics);
  sweep_tensor(kernel_for<B, known_parameters<Params>>(operation),
               {x.data(), x.strides(), codes, strides}, x.shape(), block, params, executor);
}

// The same into packed bytes, row-major. What cannot be packed on the way has a code_type each
// first.
template <Backend B, AnyParams Params, Packing Pack, Real In, NumericsPolicy N, Executor E>
void quantize_packed(const TensorView<const In>& x, const Shape& block,
                     const driver::Parameters& params, std::span<std::byte> bytes,
                     const N& numerics, const E& executor) {
  using T = typename Params::type;
  if (x.size() == 0) return;  // strides may be any numbers then
  const Strides strides = row_major_strides(x.shape());
  if constexpr (!is_unpacked<Pack, T>) {
    if (Pack::order == BitOrder::digits ||
        !TensorSpans(x.shape(), block, x.strides(), strides).pack_in_place(T::bits)) {
      Buffer<typename Params::code_type> codes(x.size());
      quantize_codes<B, Params, Unpacked>(x, block, params, codes.data(), strides, numerics,
                                          executor);
      return pack_unchecked<T, Pack, B>(codes.span(), bytes);
    }
  }
  quantize_codes<B, Params, Pack>(x, block, params, bytes.data(), strides, numerics, executor);
}

// The bodies of the checked operations; `out` becomes a view of the shape of x.
template <Backend B, AnyParams Params, Real In, NumericsPolicy N, Executor E>
void quantize_to(const TensorView<const In>& x, const Params& params,
                 TensorView<typename Params::code_type>& out, const N& numerics,
                 const E& executor) {
  require_fit("tq::quantize", params, x.shape());
  shape_as("tq::quantize", "an output", out, x.shape());
  require_no_nan<B, N>("tq::quantize", x);
  quantize_codes<B, Params, Unpacked>(x, params.granularity().block(x.shape()),
                                      all_parameters<B>(params), out.data(), out.strides(),
                                      numerics, executor);
}
template <Backend B, Packing Pack, AnyParams Params, Real In, NumericsPolicy N, Executor E>
void quantize_to(const TensorView<const In>& x, const Params& params, std::span<std::byte> bytes,
                 const N& numerics, const E& executor) {
  require_fit("tq::quantize", params, x.shape());
  require_size("tq::quantize", "bytes of codes",
               Pack::template bytes_for<typename Params::type>(x.size()), bytes.size());
  require_no_nan<B, N>("tq::quantize", x);
  quantize_packed<B, Params, Pack>(x, params.granularity().block(x.shape()),
                                   all_parameters<B>(params), bytes, numerics, executor);
}

}  // namespace detail

/// Writes the code of every element of `x` to the same place of `out`, which may have any strides.
/// Preconditions: `params.check(x.shape()) == errc::ok`, the shapes are equal, no overlap.
template <Backend B = default_backend, AnyParams Params, NumericsPolicy N = numerics_of<Params>,
          Executor E = Serial>
void quantize_unchecked(const ConstTensorView& x, const Params& params,
                        const TensorView<typename Params::code_type>& out, const N& numerics = {},
                        const E& executor = {}) noexcept(std::same_as<E, Serial>) {
  detail::quantize_codes<B, Params, Unpacked>(x, params.granularity().block(x.shape()),
                                              detail::all_parameters<B>(params), out.data(),
                                              out.strides(), numerics, executor);
}

/// Writes the codes of `x` to `out`: a tensor of `code_type` of the shape of x, which may have
/// strides of its own, a span or vector of x.size() codes (row-major), or as many `std::byte` as
/// QuantizedTensor has, which are packed and row-major. Halves widen exactly, float64 is rounded to
/// float32 first. Options: numerics, an executor, a backend; of bytes a packing in place of `Pack`.
/// Throws: `errc::shape_mismatch`, `errc::bad_axis`, `errc::bad_group_size` when the parameters or
/// `out` do not fit; `errc::not_finite` under `RaiseNan`. Nothing is written then.
template <Packing Pack = LowFirst, Readable X = ConstTensorView, AnyParams Params,
          class Out = TensorView<typename Params::code_type>, Option... O,
          Backend B = detail::backend_among<O...>>
  requires detail::takes_codes<Out, Params>
void quantize(const X& x, const Params& params, Out&& out, const O&... options) {
  using enum detail::OptionKind;
  using N = numerics_of<Params>;
  static_assert(!detail::is_temporary_owner<Out>,
                "tq::quantize: the output is a temporary: give it a name first");
  if constexpr (detail::OutputOf<Out, typename Params::code_type>) {
    const auto chosen = detail::choose<numerics, executor, backend>(options...);
    auto to = detail::output<typename Params::code_type>(std::forward<Out>(out));
    detail::quantize_to<B>(detail::read(x).view(), params, to, chosen.template numerics<N>(),
                           chosen.executor());
  } else {
    const auto chosen = detail::choose<numerics, executor, backend, packing>(options...);
    using Set = decltype(chosen);
    detail::quantize_to<B, typename Set::template type<packing, Pack>>(
        detail::read(x).view(), params, std::span<std::byte>(out), chosen.template numerics<N>(),
        chosen.executor());
  }
}

/// Writes the packed codes of `x` into a tensor made before, so that no memory is allocated but for
/// codes of fewer than 8 bits whose rows do not begin on bytes. Options: numerics, an executor, a
/// backend. Throws: as above; `out` must have the shape of `x`, and its own parameters are used.
template <Readable X = ConstTensorView, AnyParams Params, Packing Pack, Option... O,
          Backend B = detail::backend_among<O...>>
void quantize(const X& x, QuantizedTensor<Params, Pack>& out, const O&... options) {
  using enum detail::OptionKind;
  const auto chosen = detail::choose<numerics, executor, backend>(options...);
  const auto in = detail::read(x);
  const auto& view = in.view();
  detail::require_shape("tq::quantize", "an output", view.shape(), out.shape());
  detail::quantize_to<B, Pack>(view, out.params(), out.bytes(),
                               chosen.template numerics<numerics_of<Params>>(), chosen.executor());
}

/// A new tensor with the codes of `x`. Options: numerics, an executor, a backend, a packing in
/// place of `Pack`. Throws: `errc::shape_mismatch`, `errc::bad_axis`, `errc::bad_group_size` when
/// the parameters do not fit; `errc::not_finite` under `RaiseNan`.
template <Packing Pack = LowFirst, Readable X = ConstTensorView, AnyParams Params, Option... O,
          Backend B = detail::backend_among<O...>>
[[nodiscard]] auto quantize(const X& x, Params params, const O&... options) {
  using enum detail::OptionKind;
  const auto chosen = detail::choose<numerics, executor, backend, packing>(options...);
  using Set = decltype(chosen);
  using Packed = typename Set::template type<packing, Pack>;
  const auto in = detail::read(x);
  const auto& view = in.view();
  detail::require_fit("tq::quantize", params, view.shape());
  QuantizedTensor<Params, Packed> out(view.shape(), std::move(params));
  detail::quantize_to<B, Packed>(view, out.params(), out.bytes(),
                                 chosen.template numerics<numerics_of<Params>>(),
                                 chosen.executor());
  return out;
}

// --- deprecated forms ---

template <Backend B, class... Args>
[[deprecated("tq::quantize: pass tq::on<B> as an option")]] decltype(auto) quantize(
    Args&&... args) {
  return tq::quantize(std::forward<Args>(args)..., on<B>);
}
template <Packing Pack, Backend B, class... Args>
[[deprecated("tq::quantize: pass tq::on<B> as an option")]] decltype(auto) quantize(
    Args&&... args) {
  return tq::quantize<Pack>(std::forward<Args>(args)..., on<B>);
}
template <Packing Pack = LowFirst, Readable X, AnyParams Params, Option... O,
          Backend B = detail::backend_among<O...>>
[[deprecated("tq::quantize: leave {} out: options come in any order")]] auto quantize(
    const X& x, Params params, detail::Placeholder, const O&... options) {
  return tq::quantize<Pack>(x, std::move(params), options...);
}
template <Packing Pack = LowFirst, Readable X, AnyParams Params, class Out, Option... O,
          Backend B = detail::backend_among<O...>>
  requires detail::takes_codes<Out, Params>
[[deprecated("tq::quantize: leave {} out: options come in any order")]] void quantize(
    const X& x, const Params& params, Out&& out, detail::Placeholder, const O&... options) {
  tq::quantize<Pack>(x, params, std::forward<Out>(out), options...);
}

// --- calls that are mistakes ---

namespace detail {
// True for the arguments after the parameters: options, perhaps after an output.
template <class Params, class... Rest>
inline constexpr bool are_outputs_and_options = are_options<Rest...>;
template <class Params, class First, class... Rest>
inline constexpr bool are_outputs_and_options<Params, First, Rest...> =
    (Option<First> || takes_codes<First, Params>) && are_options<Rest...>;

template <class Params, class First, class... Rest>
constexpr void refuse_outputs() {
  constexpr bool is_output = takes_codes<First, Params> || Option<First>;
  static_assert(is_output,
                "tq::quantize: after the parameters comes an output, a tensor of their code_type "
                "(int8: std::int8_t) or std::byte for packed codes, or options: numerics (of a "
                "policy: Numerics<HalfAway>{}), an executor, a packing; this argument is neither");
  static_assert(!is_output || are_options<Rest...>,
                "tq::quantize: options are numerics, an executor and a packing; this argument is "
                "no option");
}
}  // namespace detail

// Does not compile, and says why.
template <class X, AnyParams Params, class... Rest>
  requires(!Readable<X> || !detail::are_outputs_and_options<Params, Rest...>)
QuantizedTensor<Params> quantize(const X&, const Params&, Rest&&...) {
  if constexpr (!detail::is_real_tensor<X>)
    static_assert(detail::is_real_tensor<X>,
                  "tq::quantize: the input is a tensor of real numbers: float, double, float16, "
                  "bfloat16; this argument is not");
  else detail::refuse_outputs<Params, Rest...>();
  return detail::no_result<QuantizedTensor<Params>>();
}

}  // namespace tq

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
#include <tq/ops/backend/operations.hpp>
#include <tq/ops/detail/checks.hpp>
#include <tq/ops/detail/known_parameters.hpp>
#include <tq/ops/detail/stored_planes.hpp>
#include <tq/ops/detail/sweep.hpp>
#include <tq/ops/pack.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
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

/// Writes the code of every element of `x` to `out`, one `code_type` each. Halves widen exactly,
/// float64 is rounded to float32 first. `out` is a span or vector of x.size() codes (row-major), or
/// a tensor of the shape of x with strides of its own. Throws: `errc::shape_mismatch`,
/// `errc::bad_axis`, `errc::bad_group_size` when the parameters or `out` do not fit;
/// `errc::not_finite` under `RaiseNan`. Nothing is written then.
template <Backend B = default_backend, AnyParams Params, NumericsPolicy N = numerics_of<Params>,
          Executor E = Serial, Readable X = ConstTensorView,
          detail::OutputOf<typename Params::code_type> Out = TensorView<typename Params::code_type>>
void quantize(const X& x, const Params& params, Out&& out, const N& numerics = {},
              const E& executor = {}) {
  static_assert(!detail::is_temporary_owner<Out>,
                "tq::quantize: the output is a temporary: give it a name first");
  auto to = detail::output<typename Params::code_type>(std::forward<Out>(out));
  detail::quantize_to<B>(detail::read(x).view(), params, to, numerics, executor);
}

/// Writes the codes of `x`, packed by `Pack` and row-major, into bytes of the caller's.
/// Throws: as above; `bytes` must be as many as QuantizedTensor has for the shape of `x`.
template <Packing Pack = LowFirst, Backend B = default_backend, AnyParams Params,
          NumericsPolicy N = numerics_of<Params>, Executor E = Serial, Readable X = ConstTensorView>
void quantize(const X& x, const Params& params, std::span<std::byte> bytes, const N& numerics = {},
              const E& executor = {}) {
  detail::quantize_to<B, Pack>(detail::read(x).view(), params, bytes, numerics, executor);
}
template <Backend B, AnyParams Params, NumericsPolicy N = numerics_of<Params>, Executor E = Serial,
          Readable X = ConstTensorView>
void quantize(const X& x, const Params& params, std::span<std::byte> bytes, const N& numerics = {},
              const E& executor = {}) {
  detail::quantize_to<B, LowFirst>(detail::read(x).view(), params, bytes, numerics, executor);
}

/// Writes the packed codes of `x` into a tensor made before, so that no memory is allocated but for
/// codes of fewer than 8 bits whose rows do not begin on bytes.
/// Throws: as above; `out` must have the shape of `x`, and its own parameters are used.
template <Backend B = default_backend, AnyParams Params, Packing Pack,
          NumericsPolicy N = numerics_of<Params>, Executor E = Serial, Readable X = ConstTensorView>
void quantize(const X& x, QuantizedTensor<Params, Pack>& out, const N& numerics = {},
              const E& executor = {}) {
  const auto in = detail::read(x);
  const auto& view = in.view();
  detail::require_shape("tq::quantize", "an output", view.shape(), out.shape());
  detail::quantize_to<B, Pack>(view, out.params(), out.bytes(), numerics, executor);
}

/// A new tensor with the codes of `x`, packed by `Pack`.
/// Throws: `errc::shape_mismatch`, `errc::bad_axis`, `errc::bad_group_size` when the parameters do
/// not fit; `errc::not_finite` under `RaiseNan`.
template <Packing Pack = LowFirst, Backend B = default_backend, AnyParams Params,
          NumericsPolicy N = numerics_of<Params>, Executor E = Serial, Readable X = ConstTensorView>
[[nodiscard]] QuantizedTensor<Params, Pack> quantize(const X& x, Params params,
                                                     const N& numerics = {},
                                                     const E& executor = {}) {
  const auto in = detail::read(x);
  const auto& view = in.view();
  detail::require_fit("tq::quantize", params, view.shape());
  QuantizedTensor<Params, Pack> out(view.shape(), std::move(params));
  quantize<B>(view, out, numerics, executor);
  return out;
}
template <Backend B, AnyParams Params, NumericsPolicy N = numerics_of<Params>, Executor E = Serial,
          Readable X = ConstTensorView>
[[nodiscard]] QuantizedTensor<Params> quantize(const X& x, Params params, const N& numerics = {},
                                               const E& executor = {}) {
  return quantize<LowFirst, B>(x, std::move(params), numerics, executor);
}

// --- options in any order: numerics, an executor, a packing ---

/// Writes the codes of `x` to `out`: a tensor of `code_type`, bytes, or a tensor made before. Bytes
/// take a packing among the options. Throws: as above.
template <Readable X, AnyParams Params, class Out, class... O>
requires detail::takes_codes<Out, Params> && detail::FreeOptions<O...>
void quantize(const X& x, const Params& params, Out&& out, const O&... options) {
  using enum detail::OptionKind;
  using N = numerics_of<Params>;
  if constexpr (std::convertible_to<Out, std::span<std::byte>> &&
                !detail::OutputOf<Out, typename Params::code_type>) {
    const auto chosen = detail::choose<numerics, executor, packing>(options...);
    using Pack = typename decltype(chosen)::template type<packing, LowFirst>;
    quantize<Pack>(x, params, std::span<std::byte>(out), chosen.template get<numerics, N>(),
                   chosen.template get<executor, Serial>());
  } else {
    const auto chosen = detail::choose<numerics, executor>(options...);
    quantize(x, params, std::forward<Out>(out), chosen.template get<numerics, N>(),
             chosen.template get<executor, Serial>());
  }
}
template <Readable X, AnyParams Params, Packing Pack, class... O>
requires detail::FreeOptions<O...>
void quantize(const X& x, QuantizedTensor<Params, Pack>& out, const O&... options) {
  using enum detail::OptionKind;
  const auto chosen = detail::choose<numerics, executor>(options...);
  quantize(x, out, chosen.template get<numerics, numerics_of<Params>>(),
           chosen.template get<executor, Serial>());
}

/// A new tensor with the codes of `x`. Throws: as above.
template <Readable X, AnyParams Params, class... O>
requires detail::FreeOptions<O...>
[[nodiscard]] auto quantize(const X& x, Params params, const O&... options) {
  using enum detail::OptionKind;
  const auto chosen = detail::choose<numerics, executor, packing>(options...);
  using Pack = typename decltype(chosen)::template type<packing, LowFirst>;
  return quantize<Pack>(x, std::move(params), chosen.template get<numerics, numerics_of<Params>>(),
                        chosen.template get<executor, Serial>());
}

// --- calls that are mistakes ---

namespace detail {
// True for the arguments after the parameters: options, perhaps after an output.
template <class Params, class... Rest>
inline constexpr bool are_outputs_and_options = are_options<Rest...>;
template <class Params, class First, class... Rest>
inline constexpr bool are_outputs_and_options<Params, First, Rest...> =
    (Option<First> || takes_codes<First, Params>)&&are_options<Rest...>;

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

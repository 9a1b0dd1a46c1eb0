// SPDX-License-Identifier: MIT
#pragma once
// quantize_dynamic: parameters and codes together, for values that are known only at run time.

#include <tq/core/buffer.hpp>
#include <tq/core/detail/flat_range.hpp>
#include <tq/core/detail/mistakes.hpp>
#include <tq/core/detail/read.hpp>
#include <tq/core/fit_params.hpp>
#include <tq/core/make_params.hpp>
#include <tq/core/options.hpp>
#include <tq/core/packing.hpp>
#include <tq/core/params_view.hpp>
#include <tq/core/quantized_tensor.hpp>
#include <tq/core/readable.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/ops/backend/on.hpp>
#include <tq/ops/detail/checks.hpp>
#include <tq/ops/detail/dynamic_codes.hpp>
#include <tq/ops/detail/dynamic_params.hpp>
#include <tq/ops/detail/dynamic_sweep.hpp>
#include <tq/ops/dynamic_outputs.hpp>
#include <tq/ops/quantize.hpp>
#include <tq/ops/tensor_scale.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace tq {

namespace detail {
// Parameters of a block that depend on nothing but its elements.
template <class Params>
concept IndependentParams =
    AnyParams<Params> && PlainScaleType<typename Params::scale_type> && !OffsetParams<Params>;

// Throws unless the granularity is possible over `shape`, and there is a place for every parameter.
template <AnyParams Params>
void require_dynamic(const Shape& shape, const typename Params::granularity_type& granularity,
                     const ParamsOut<Params>& out) {
  require_possible("tq::quantize_dynamic", granularity, shape);
  const std::size_t slot_count = param_count(granularity, shape);
  require_size("tq::quantize_dynamic", "scales", slot_count, out.scales.size());
  require_size("tq::quantize_dynamic", "zero points", Params::has_zero_point ? slot_count : 0,
               out.zero_points.size());
}

// Into a view or bytes, if everything fits.
template <Backend B, AnyParams Params, Real In, NumericsPolicy N, class Fit, Executor E>
void quantize_to_view(const TensorView<const In>& x,
                      const typename Params::granularity_type& granularity,
                      TensorView<typename Params::code_type>& view, const ParamsOut<Params>& out,
                      const Fit& fit, const N& n, const E& executor) {
  require_dynamic<Params>(x.shape(), granularity, out);
  shape_as("tq::quantize_dynamic", "an output", view, x.shape());
  require_no_nan<B, N>("tq::quantize_dynamic", x);
  quantize_by_blocks<B, Params, N>(CodesToView<B, Params, In, N>{x, view, n}, granularity, fit, out,
                                   executor);
}
template <Packing Pack, Backend B, AnyParams Params, Real In, NumericsPolicy N, class Fit,
          Executor E>
void quantize_to_bytes(const TensorView<const In>& x,
                       const typename Params::granularity_type& granularity,
                       std::span<std::byte> bytes, const ParamsOut<Params>& out, const Fit& fit,
                       const N& n, const E& executor) {
  using code_type = typename Params::code_type;
  require_dynamic<Params>(x.shape(), granularity, out);
  require_size("tq::quantize_dynamic", "bytes of codes",
               Pack::template bytes_for<typename Params::type>(x.size()), bytes.size());
  require_no_nan<B, N>("tq::quantize_dynamic", x);
  if constexpr (is_unpacked<Pack, typename Params::type>) {
    const TensorView<code_type> view(reinterpret_cast<code_type*>(bytes.data()), x.shape());
    quantize_by_blocks<B, Params, N>(CodesToView<B, Params, In, N>{x, view, n}, granularity, fit,
                                     out, executor);
  } else {
    quantize_by_blocks<B, Params, N>(CodesToBytes<B, Params, Pack, In, N>{x, bytes, n}, granularity,
                                     fit, out, executor);
  }
}

// Scales under one of the tensor, if it can be one.
template <Backend B, AnyParams Params, NumericsPolicy N>
[[nodiscard]] FitUnder<B, Params, N> fit_under(float tensor_scale) {
  Scales<typename Params::scale_type>::require_tensor_scale("tq::quantize_dynamic", tensor_scale);
  return {tensor_scale};
}

// Into a new tensor.
template <Packing Pack, Backend B, AnyParams Params, Real In, NumericsPolicy N, Executor E>
[[nodiscard]] QuantizedTensor<params_under<Params, N>, Pack> quantize_to_new(
    const TensorView<const In>& x, const typename Params::granularity_type& granularity, const N& n,
    const E& executor) {
  using Scale = typename Params::scale_type;
  using Made = params_under<Params, N>;
  const Shape& shape = x.shape();
  require_possible("tq::quantize_dynamic", granularity, shape);
  const std::size_t slot_count = param_count(granularity, shape);
  if constexpr (IndependentParams<Params> || is_two_level<Scale>) {
    std::vector<stored_scale<Scale>> scales(slot_count);
    std::vector<std::int32_t> zero_points(Params::has_zero_point ? slot_count : 0);
    Buffer<std::byte> bytes(Pack::template bytes_for<typename Params::type>(x.size()));
    const auto made = [&](const auto& fit, auto... over_all) {
      quantize_to_bytes<Pack, B, Params>(x, granularity, bytes.span(), {scales, zero_points}, fit,
                                         n, executor);
      return QuantizedTensor<Made, Pack>(
          shape,
          make_params<Made>(granularity, Scales<Scale>(std::move(scales), over_all...),
                            zero_points),
          std::move(bytes));
    };
    if constexpr (PlainScaleType<Scale>) {
      return made(FitAlone<B, Params, N>{});
    } else {
      const float over_all = find_tensor_scale<Params, B, N>(x, granularity, executor);
      return made(fit_under<B, Params, N>(over_all), over_all);
    }
  } else {  // scales that depend on those of other blocks, or are none
    require_no_nan<B, N>("tq::quantize_dynamic", x);
    const auto ranges = block_ranges<B, Params>(x, granularity.block(shape), slot_count, executor);
    QuantizedTensor<Made, Pack> out(shape,
                                    fit_params<Made, N, EncodeBatches<B>>(granularity, ranges));
    quantize_to<B, Pack>(x, out.params(), out.bytes(), n, executor);
    return out;
  }
}
}  // namespace detail

/// Finds parameters for every block of `x`, of real numbers of any type, and writes its codes to
/// `out`, parameters to `scales`, as they are stored, and `zero_points`; where a block lies in one
/// stretch (a row, a group) while it is still in cache. Parameters and codes are those of
/// `calibrate` by the extremes and `quantize` of the values as float32, under the same numerics.
/// NaN and infinities do not count for the range; blocks without finite values have the parameters
/// of zeros. Preconditions: `granularity.check(x.shape()) == errc::ok`, the shapes are equal,
/// `scales` (and `zero_points`, where the symmetry has them) have one entry per parameter, the
/// memory does not overlap. Throws: `errc::bad_scale` under `ScaleRaises`.
template <detail::IndependentParams Params, Backend B = default_backend,
          NumericsPolicy N = numerics_of<Params>, Executor E = Serial, Readable X = ConstTensorView>
void quantize_dynamic_unchecked(const X& x, const typename Params::granularity_type& granularity,
                                const TensorView<typename Params::code_type>& out,
                                std::span<detail::stored_scale<typename Params::scale_type>> scales,
                                std::span<std::int32_t> zero_points = {}, const N& numerics = {},
                                const E& executor = {}) {
  const auto in = detail::read(x);
  const auto& view = in.view();
  using In = real_of<X>;
  detail::quantize_by_blocks<B, Params, N>(
      detail::CodesToView<B, Params, In, N>{view, out, numerics}, granularity,
      detail::FitAlone<B, Params, N>{}, detail::ParamsOut<Params>{scales, zero_points}, executor);
}

/// Finds parameters for every block of `x` and writes codes and parameters to the named outputs:
/// quantize_dynamic<D8>(x, {.codes = codes, .scales = scales}, OpenMp{}). `codes` is a tensor of
/// `code_type` of the shape of x, a span of x.size() codes, or bytes, which take a packing among
/// the options and are as many as QuantizedTensor has. `scales` are as they are stored; schemes
/// with zero points have `zero_points` too, and scales of two levels a `tensor_scale`, a calibrated
/// one or `tq::tensor_scale<Params>(x)`; block scales that are too large for it become the largest.
/// Options: a granularity, numerics, an executor, a packing, a backend. Parameters and codes are
/// those of `calibrate` by the extremes and `quantize` of the values as float32. Throws:
/// `errc::shape_mismatch`, `errc::bad_axis`, `errc::bad_group_size` when something does not fit;
/// `errc::not_finite` under `RaiseNan`; `errc::bad_scale` under `ScaleRaises`, and unless
/// `tensor_scale` is positive and finite. Nothing is written then.
template <AnyParams Params, Readable X = ConstTensorView, Option... O,
          Backend B = detail::backend_among<O...>>
  requires detail::IndependentParams<Params> || detail::is_two_level<typename Params::scale_type>
void quantize_dynamic(const X& x, const DynamicOutputs<Params>& out, const O&... options) {
  using enum detail::OptionKind;
  using Gran = typename Params::granularity_type;
  detail::require_axes<X, Gran>();
  const auto chosen = detail::choose<granularity, numerics, executor, packing, backend>(options...);
  using Set = decltype(chosen);
  const auto n = chosen.template numerics<numerics_of<Params>>();
  using N = std::remove_const_t<decltype(n)>;
  const auto& run = chosen.executor();
  const Gran& gran = chosen.template get<granularity, Gran>();
  const auto in = detail::read(x);
  const auto to_codes = [&](const auto& fit) {
    const detail::ParamsOut<Params> params = out.params();
    if (out.codes.is_bytes()) {
      using Pack = typename Set::template type<packing, LowFirst>;
      detail::quantize_to_bytes<Pack, B, Params>(in.view(), gran, out.codes.bytes(), params, fit, n,
                                                 run);
    } else {
      auto view = out.codes.view();
      detail::quantize_to_view<B, Params>(in.view(), gran, view, params, fit, n, run);
    }
  };
  if constexpr (detail::is_two_level<typename Params::scale_type>)
    to_codes(detail::fit_under<B, Params, N>(out.tensor_scale));
  else to_codes(detail::FitAlone<B, Params, N>{});
}

/// A new tensor with the parameters and codes of `x`, for scales of any type. Its parameters
/// remember the numerics. Options: as above, a packing in place of `Pack`. Throws: as above.
template <AnyParams Params, Packing Pack = LowFirst, Readable X = ConstTensorView, Option... O,
          Backend B = detail::backend_among<O...>>
[[nodiscard]] auto quantize_dynamic(const X& x, const O&... options) {
  using enum detail::OptionKind;
  using Gran = typename Params::granularity_type;
  detail::require_axes<X, Gran>();
  const auto chosen = detail::choose<granularity, numerics, executor, packing, backend>(options...);
  using Set = decltype(chosen);
  return detail::quantize_to_new<typename Set::template type<packing, Pack>, B, Params>(
      detail::read(x).view(), chosen.template get<granularity, Gran>(),
      chosen.template numerics<numerics_of<Params>>(), chosen.executor());
}

/// `x` quantized by parameters that cover the range of every block: quantize(x,
/// calibrate<Params>(x)) in one call, with the options of `quantize_dynamic`. Throws: as above.
template <AnyParams Params, Readable X, Option... O, Backend B = detail::backend_among<O...>>
[[nodiscard]] auto quantize(const X& x, const O&... options) {
  return quantize_dynamic<Params>(x, options...);
}

// --- deprecated forms ---

template <AnyParams Params, Backend B, class... Args>
[[deprecated("tq::quantize_dynamic: pass tq::on<B> as an option")]] decltype(auto) quantize_dynamic(
    Args&&... args) {
  return tq::quantize_dynamic<Params>(std::forward<Args>(args)..., on<B>);
}
template <AnyParams Params, Packing Pack, Backend B, class... Args>
[[deprecated("tq::quantize_dynamic: pass tq::on<B> as an option")]] decltype(auto) quantize_dynamic(
    Args&&... args) {
  return tq::quantize_dynamic<Params, Pack>(std::forward<Args>(args)..., on<B>);
}
template <AnyParams Params, Packing Pack = LowFirst, Readable X, Option... O,
          Backend B = detail::backend_among<O...>>
[[deprecated("tq::quantize_dynamic: leave {} out: options come in any order")]] auto
quantize_dynamic(const X& x, const detail::InBraces<typename Params::granularity_type>& granularity,
                 const O&... options) {
  return tq::quantize_dynamic<Params, Pack>(x, granularity.value, options...);
}
template <detail::IndependentParams Params, Packing Pack = LowFirst, Readable X, class Out,
          NumericsPolicy N = numerics_of<Params>, Executor E = Serial>
  requires detail::takes_codes<Out, Params>
[[deprecated("tq::quantize_dynamic: name the outputs: {.codes = codes, .scales = scales}")]] void
quantize_dynamic(const X& x, typename Params::granularity_type granularity, Out&& out,
                 std::span<detail::stored_scale<typename Params::scale_type>> scales,
                 std::span<std::int32_t> zero_points = {}, const N& numerics = {},
                 const E& executor = {}) {
  tq::quantize_dynamic<Params>(x, detail::dynamic_outputs<Params>(out, scales, zero_points),
                               granularity, Pack{}, numerics, executor);
}
template <AnyParams Params, Packing Pack = LowFirst, Readable X, class Out,
          NumericsPolicy N = numerics_of<Params>, Executor E = Serial>
  requires detail::is_two_level<typename Params::scale_type> && detail::takes_codes<Out, Params>
[[deprecated(
    "tq::quantize_dynamic: name the outputs: {.codes = codes, .scales = scales, .tensor_scale = "
    "scale}")]] void
quantize_dynamic(const X& x, typename Params::granularity_type granularity, float tensor_scale,
                 Out&& out, const detail::ParamsOut<Params>& params, const N& numerics = {},
                 const E& executor = {}) {
  auto named = detail::dynamic_outputs<Params>(out, params.scales, params.zero_points);
  named.tensor_scale = tensor_scale;
  tq::quantize_dynamic<Params>(x, named, granularity, Pack{}, numerics, executor);
}

// These do not compile, and say why.
template <AnyParams Params, Readable X, class... O>
void quantize_dynamic(const X&, const detail::OutputsWithoutCodes<Params>&, const O&...) {
  static_assert(!sizeof(X),
                "tq::quantize_dynamic: say where the codes go: {.codes = codes, .scales = scales}");
}
template <AnyParams Params, Readable X, class... O>
  requires(!detail::are_options<O...>)
QuantizedTensor<Params> quantize(const X&, const O&...) {
  static_assert(detail::are_options<O...>,
                "tq::quantize: options are numerics, an executor, a packing and a granularity; "
                "this argument is no option");
  return detail::no_result<QuantizedTensor<Params>>();
}

}  // namespace tq

// SPDX-License-Identifier: MIT
#pragma once
// dequantize: codes to real numbers: (code - zero point) * scale of integers, code * scale + offset
// where the symmetry has offsets, value(code) * scale of the others.

#include <tq/core/detail/mistakes.hpp>
#include <tq/core/detail/read.hpp>
#include <tq/core/options.hpp>
#include <tq/core/packing.hpp>
#include <tq/core/quantized_tensor.hpp>
#include <tq/core/readable.hpp>
#include <tq/core/real.hpp>
#include <tq/ops/backend/on.hpp>
#include <tq/ops/backend/operations.hpp>
#include <tq/ops/detail/checks.hpp>
#include <tq/ops/detail/known_parameters.hpp>
#include <tq/ops/detail/stored_planes.hpp>
#include <tq/ops/detail/sweep.hpp>

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace tq {

namespace detail {

template <Backend B, Packing Pack, AnyParams Params, Real Out, Executor E>
void dequantize_codes(const void* codes, const Strides& strides, const Params& params,
                      const TensorView<Out>& out, const E& executor) {
  const dequantizing<Params, Pack, Out> operation;
  sweep_tensor(kernel_for<B, known_parameters<Params>>(operation),
               {codes, strides, out.data(), out.strides()}, out.shape(),
               params.granularity().block(out.shape()), all_parameters<B>(params), executor);
}

}  // namespace detail

/// Writes the real value of every code to the same place of `out`.
/// Preconditions: `params.check(codes.shape()) == errc::ok`, the shapes are equal, no overlap.
template <Backend B = default_backend, AnyParams Params, Real Out, Executor E = Serial>
void dequantize_unchecked(const TensorView<const typename Params::code_type>& codes,
                          const Params& params, const TensorView<Out>& out,
                          const E& executor = {}) noexcept(std::same_as<E, Serial>) {
  detail::dequantize_codes<B, Unpacked>(codes.data(), codes.strides(), params, out, executor);
}

namespace detail {
template <Backend B, AnyParams Params, Real Out, Executor E>
void dequantize_to(TensorView<const typename Params::code_type> codes, const Params& params,
                   const TensorView<Out>& out, const E& executor) {
  shape_as("tq::dequantize", "codes", codes, out.shape());
  require_fit("tq::dequantize", params, out.shape());
  dequantize_unchecked<B>(codes, params, out, executor);
}
}  // namespace detail

/// Writes the real values of `codes` (a span or vector of one `code_type` each, row-major, or a
/// tensor of the shape of `out`) to `out`, of float, double or 16 bits, rounded once. A span or
/// vector is an output of rank 1. Throws: `errc::shape_mismatch`, `errc::bad_axis`,
/// `errc::bad_group_size` when something does not fit.
template <
    AnyParams Params,
    detail::InputOf<typename Params::code_type> C = TensorView<const typename Params::code_type>,
    detail::RealOutput Out = TensorView<float>, Option... O,
    Backend B = detail::backend_among<O...>>
void dequantize(const C& codes, const Params& params, Out&& out, const O&... options) {
  using enum detail::OptionKind;
  static_assert(!detail::is_temporary_owner<Out>,
                "tq::dequantize: the output is a temporary: give it a name first");
  const auto chosen = detail::choose<executor, backend>(options...);
  detail::dequantize_to<B>(detail::read_as<typename Params::code_type>(codes).view(), params,
                           detail::output<detail::real_output_t<Out>>(std::forward<Out>(out)),
                           chosen.executor());
}

/// The real values of `codes`: a row-major vector, or of an Eigen object a matrix (array, vector)
/// of its extents and storage order. Throws: `errc::shape_mismatch`, `errc::bad_axis`,
/// `errc::bad_group_size` when the parameters do not fit.
template <
    AnyParams Params,
    detail::InputOf<typename Params::code_type> C = TensorView<const typename Params::code_type>,
    Option... O, Backend B = detail::backend_among<O...>>
[[nodiscard]] auto dequantize(const C& codes, const Params& params, const O&... options) {
  using enum detail::OptionKind;
  const auto chosen = detail::choose<executor, backend>(options...);
  const auto in = detail::read_as<typename Params::code_type>(codes);
  detail::require_fit("tq::dequantize", params, in.view().shape());
  auto out = detail::new_like<float>(codes, in.view().size());
  detail::dequantize_to<B>(in.view(), params, detail::view_like<float>(out, in.view().shape()),
                           chosen.executor());
  return out;
}

namespace detail {
template <Backend B, Packing Pack, AnyParams Params, Real Out, Executor E>
void dequantize_bytes_to(std::span<const std::byte> bytes, const Params& params,
                         const TensorView<Out>& out, const E& executor) {
  require_fit("tq::dequantize", params, out.shape());
  require_size("tq::dequantize", "bytes of codes",
               Pack::template bytes_for<typename Params::type>(out.size()), bytes.size());
  dequantize_codes<B, Pack>(bytes.data(), row_major_strides(out.shape()), params, out, executor);
}
}  // namespace detail

/// Writes the real values of packed codes in memory of the caller's to `out`: row-major, of its
/// shape. Options: an executor, a backend, and a packing in place of `Pack`. Throws:
/// `errc::shape_mismatch`, `errc::bad_axis`, `errc::bad_group_size` when something does not fit.
template <Packing Pack = LowFirst, AnyParams Params, detail::RealOutput Out = TensorView<float>,
          Option... O, Backend B = detail::backend_among<O...>>
void dequantize(std::span<const std::byte> bytes, const Params& params, Out&& out,
                const O&... options) {
  using enum detail::OptionKind;
  static_assert(!detail::is_temporary_owner<Out>,
                "tq::dequantize: the output is a temporary: give it a name first");
  const auto chosen = detail::choose<executor, packing, backend>(options...);
  using Set = decltype(chosen);
  detail::dequantize_bytes_to<B, typename Set::template type<packing, Pack>>(
      bytes, params, detail::output<detail::real_output_t<Out>>(std::forward<Out>(out)),
      chosen.executor());
}

namespace detail {
template <Backend B, AnyParams Params, Packing Pack, Real Out, Executor E>
void dequantize_tensor_to(const QuantizedTensor<Params, Pack>& q, TensorView<Out> out,
                          const E& executor) {
  shape_as("tq::dequantize", "an output", out, q.shape());
  dequantize_codes<B, Pack>(q.bytes().data(), row_major_strides(q.shape()), q.params(), out,
                            executor);
}
}  // namespace detail

/// Writes the real values of a packed tensor to `out`, a tensor of its shape or a span of its size,
/// of float, double or 16 bits, rounded once. Throws: `errc::shape_mismatch`.
template <AnyParams Params, Packing Pack, detail::RealOutput Out = TensorView<float>, Option... O,
          Backend B = detail::backend_among<O...>>
void dequantize(const QuantizedTensor<Params, Pack>& q, Out&& out, const O&... options) {
  using enum detail::OptionKind;
  static_assert(!detail::is_temporary_owner<Out>,
                "tq::dequantize: the output is a temporary: give it a name first");
  const auto chosen = detail::choose<executor, backend>(options...);
  detail::dequantize_tensor_to<B>(
      q, detail::output<detail::real_output_t<Out>>(std::forward<Out>(out)), chosen.executor());
}

/// The real values of a packed tensor, row-major.
template <AnyParams Params, Packing Pack, Option... O, Backend B = detail::backend_among<O...>>
[[nodiscard]] std::vector<float> dequantize(const QuantizedTensor<Params, Pack>& q,
                                            const O&... options) {
  std::vector<float> out(q.size());
  dequantize(q, TensorView<float>(out.data(), q.shape()), options...);
  return out;
}

template <Backend B, class... Args>
[[deprecated("tq::dequantize: pass tq::on<B> as an option")]] decltype(auto) dequantize(
    Args&&... args) {
  return tq::dequantize(std::forward<Args>(args)..., on<B>);
}
template <Packing Pack, Backend B, class... Args>
[[deprecated("tq::dequantize: pass tq::on<B> as an option")]] void dequantize(Args&&... args) {
  tq::dequantize<Pack>(std::forward<Args>(args)..., on<B>);
}

// --- calls that are mistakes ---

namespace detail {
// An output that is no tensor of real numbers, and no option.
template <class Out>
inline constexpr bool takes_reals = RealOutput<Out>;
template <class Out>
concept NoRealOutput = !takes_reals<Out> && !Option<Out>;
}  // namespace detail

// Does not compile, and says why.
template <class C, AnyParams Params, detail::NoRealOutput Out, class... O>
void dequantize(const C&, const Params&, Out&&, const O&...) {
  static_assert(detail::takes_reals<Out>,
                "tq::dequantize: the output is a tensor of real numbers: float, double, float16, "
                "bfloat16; this argument is not");
}
template <AnyParams Params, Packing Pack, detail::NoRealOutput Out, class... O>
void dequantize(const QuantizedTensor<Params, Pack>&, Out&&, const O&...) {
  static_assert(detail::takes_reals<Out>,
                "tq::dequantize: the output is a tensor of real numbers: float, double, float16, "
                "bfloat16; this argument is not");
}

}  // namespace tq

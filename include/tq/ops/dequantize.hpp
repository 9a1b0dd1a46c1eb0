// SPDX-License-Identifier: MIT
#pragma once
// dequantize: codes to real numbers: (code - zero point) * scale of integers, code * scale + offset
// where the symmetry has offsets, value(code) * scale of the others.

#include <tq/core/packing.hpp>
#include <tq/core/quantized_tensor.hpp>
#include <tq/core/real.hpp>
#include <tq/ops/backend/operations.hpp>
#include <tq/ops/detail/checks.hpp>
#include <tq/ops/detail/known_parameters.hpp>
#include <tq/ops/detail/stored_planes.hpp>
#include <tq/ops/detail/sweep.hpp>

#include <cstddef>
#include <span>
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

/// Writes the real values of `codes` (a span or vector of one `code_type` each, row-major, or a
/// view of the shape of `out`) to `out`. Throws: `errc::shape_mismatch`, `errc::bad_axis`,
/// `errc::bad_group_size` when something does not fit.
template <Backend B = default_backend, AnyParams Params, Real Out, Executor E = Serial>
void dequantize(TensorView<const typename Params::code_type> codes, const Params& params,
                const TensorView<Out>& out, const E& executor = {}) {
  detail::shape_as("tq::dequantize", "codes", codes, out.shape());
  detail::require_fit("tq::dequantize", params, out.shape());
  dequantize_unchecked<B>(codes, params, out, executor);
}
/// The same to a span or vector of float32, as a tensor of rank 1.
template <Backend B = default_backend, AnyParams Params, Executor E = Serial>
void dequantize(TensorView<const typename Params::code_type> codes, const Params& params,
                const TensorView<float>& out, const E& executor = {}) {
  dequantize<B, Params, float, E>(codes, params, out, executor);
}

/// The real values of `codes`, row-major.
/// Throws: `errc::shape_mismatch`, `errc::bad_axis`, `errc::bad_group_size` when the parameters do
/// not fit.
template <Backend B = default_backend, AnyParams Params>
[[nodiscard]] std::vector<float> dequantize(
    const TensorView<const typename Params::code_type>& codes, const Params& params) {
  detail::require_fit("tq::dequantize", params, codes.shape());
  std::vector<float> out(codes.size());
  dequantize<B>(codes, params, TensorView<float>(out.data(), codes.shape()));
  return out;
}

/// Writes the real values of packed codes in memory of the caller's to `out`: row-major, of its
/// shape. Throws: `errc::shape_mismatch`, `errc::bad_axis`, `errc::bad_group_size` when something
/// does not fit.
template <Packing Pack = LowFirst, Backend B = default_backend, AnyParams Params, Real Out,
          Executor E = Serial>
void dequantize(std::span<const std::byte> bytes, const Params& params, const TensorView<Out>& out,
                const E& executor = {}) {
  detail::require_fit("tq::dequantize", params, out.shape());
  detail::require_size("tq::dequantize", "bytes of codes",
                       Pack::template bytes_for<typename Params::type>(out.size()), bytes.size());
  detail::dequantize_codes<B, Pack>(bytes.data(), row_major_strides(out.shape()), params, out,
                                    executor);
}
template <Packing Pack = LowFirst, Backend B = default_backend, AnyParams Params,
          Executor E = Serial>
void dequantize(std::span<const std::byte> bytes, const Params& params,
                const TensorView<float>& out, const E& executor = {}) {
  dequantize<Pack, B, Params, float, E>(bytes, params, out, executor);
}
template <Backend B, AnyParams Params, Executor E = Serial>
void dequantize(std::span<const std::byte> bytes, const Params& params,
                const TensorView<float>& out, const E& executor = {}) {
  dequantize<LowFirst, B, Params, float, E>(bytes, params, out, executor);
}

/// Writes the real values of a packed tensor to `out`, a view of its shape or a span of its size.
/// Throws: `errc::shape_mismatch`.
template <Backend B = default_backend, AnyParams Params, Packing Pack, Real Out,
          Executor E = Serial>
void dequantize(const QuantizedTensor<Params, Pack>& q, TensorView<Out> out,
                const E& executor = {}) {
  detail::shape_as("tq::dequantize", "an output", out, q.shape());
  detail::dequantize_codes<B, Pack>(q.bytes().data(), row_major_strides(q.shape()), q.params(), out,
                                    executor);
}
template <Backend B = default_backend, AnyParams Params, Packing Pack, Executor E = Serial>
void dequantize(const QuantizedTensor<Params, Pack>& q, TensorView<float> out,
                const E& executor = {}) {
  dequantize<B, Params, Pack, float, E>(q, out, executor);
}

/// The real values of a packed tensor, row-major.
template <Backend B = default_backend, AnyParams Params, Packing Pack, Executor E = Serial>
[[nodiscard]] std::vector<float> dequantize(const QuantizedTensor<Params, Pack>& q,
                                            const E& executor = {}) {
  std::vector<float> out(q.size());
  dequantize<B>(q, TensorView<float>(out.data(), q.shape()), executor);
  return out;
}

}  // namespace tq

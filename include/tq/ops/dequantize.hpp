// SPDX-License-Identifier: MIT
#pragma once
// dequantize: codes to float32: (code - zero point) * scale of integers, value(code) * scale of the others.

#include <tq/core/packing.hpp>
#include <tq/core/quantized_tensor.hpp>
#include <tq/ops/columns.hpp>
#include <tq/ops/decoded_params.hpp>
#include <tq/ops/pack.hpp>
#include <tq/ops/parts.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace tq {

/// Writes the real value of every code to the same place of `out`.
/// Preconditions: `params.check(codes.shape()) == errc::ok`, the shapes are equal, no overlap.
template <Backend B = default_backend, AnyParams Params, Executor E = Serial>
void dequantize_unchecked(const TensorView<const typename Params::code_type>& codes, const Params& params,
                          const TensorView<float>& out,
                          const E& executor = {}) noexcept(std::same_as<E, Serial> && detail::reads_in_place<Params>) {
  using code_type = typename Params::code_type;
  const bool streaming = arch::worth_streaming(codes.size() * (sizeof(float) + sizeof(code_type)));
  const detail::DecodedParams<B, Params> decoded(params);
  detail::for_each_span(executor, codes, out, params.granularity().block(codes.shape()), decoded.scales(),
                        decoded.zero_points(),
                        [&](const code_type* from, float* to, const kernels::Span& span) {
                          const bool far = streaming && span.length * span.count > detail::column_piece;
                          detail::code_kernels<B, Params>::dequantize(from, to, span, far);
                        });
}

/// Writes the real values of `codes` (a span or vector of one `code_type` each, row-major, or a view of the
/// shape of `out`) to `out`.
/// Throws: `errc::shape_mismatch`, `errc::bad_axis`, `errc::bad_group_size` when something does not fit.
template <Backend B = default_backend, AnyParams Params, Executor E = Serial>
void dequantize(TensorView<const typename Params::code_type> codes, const Params& params, const TensorView<float>& out,
                const E& executor = {}) {
  detail::shape_as("tq::dequantize", "codes", codes, out.shape());
  detail::require_fit("tq::dequantize", params, out.shape());
  dequantize_unchecked<B>(codes, params, out, executor);
}

/// The real values of `codes`, row-major.
/// Throws: `errc::shape_mismatch`, `errc::bad_axis`, `errc::bad_group_size` when the parameters do not fit.
template <Backend B = default_backend, AnyParams Params>
[[nodiscard]] std::vector<float> dequantize(const TensorView<const typename Params::code_type>& codes, const Params& params) {
  std::vector<float> out(codes.size());
  dequantize<B>(codes, params, TensorView<float>(out.data(), codes.shape()));
  return out;
}

namespace detail {
// Packed codes, row-major, to `out`, of whose shape they are. Preconditions: the parameters fit it, and so do the bytes.
template <Backend B, Packing Pack, AnyParams Params, Executor E>
void dequantize_packed(std::span<const std::byte> bytes, const Params& params, const TensorView<float>& out, const E& executor) {
  using code_type = typename Params::code_type;
  using type = typename Params::type;
  const Shape& shape = out.shape();
  if constexpr (is_unpacked<Pack, type>) {
    const TensorView<const code_type> codes(reinterpret_cast<const code_type*>(bytes.data()), shape);
    dequantize_unchecked<B>(codes, params, out, executor);
  } else if (is_turned(shape, row_major_strides(shape), out.strides())) {
    Buffer<code_type> codes(out.size());
    unpack_unchecked<type, Pack, B>(bytes, codes.span());
    dequantize_unchecked<B>(TensorView<const code_type>(codes.data(), shape), params, out, executor);
  } else {
    using kernel = code_kernels<B, Params>;
    constexpr std::size_t bits = type::bits;
    constexpr bool fused = Pack::order == BitOrder::low_first && kernel::packs;
    // Otherwise codes are unpacked a cacheful at a time, always from a whole byte on.
    constexpr std::size_t capacity = 4096, unit = Pack::order == BitOrder::digits ? 5 : 8;
    const bool streaming = arch::worth_streaming(out.size() * sizeof(float));
    const DecodedParams<B, Params> decoded(params);
    for_each_task(executor, shape, params.granularity().block(shape), row_major_strides(shape), out.strides(), [&](auto&& each) {
      alignas(64) code_type codes[capacity];
      std::size_t first = 0, last = 0;  // the codes of elements [first, last) are unpacked
      each([&](const Run& run) {
        if constexpr (fused) {
          const bool dense = run.source_stride == static_cast<std::ptrdiff_t>(run.length);
          const auto begin = static_cast<std::size_t>(run.source) * bits;
          if (begin % 8 == 0 && (run.count == 1 || (dense && run.length * bits % 8 == 0)))
            return kernel::unpack(reinterpret_cast<const unsigned char*>(bytes.data()) + begin / 8, out.data() + run.target,
                                  kernel_span(run, decoded), streaming && run.size() >= 1024);
        }
        for (std::size_t done = 0; done < run.size();) {
          // Rows of a packed tensor follow one another, so source positions count the elements.
          const std::size_t at = static_cast<std::size_t>(run.source) + done;
          if (at < first || at >= last) {
            first = at / unit * unit;
            last = std::min(first + capacity, out.size());
            unpack_unchecked<type, Pack, B>(bytes.subspan(Pack::template bytes_for<type>(first)),
                                            std::span(codes).first(last - first));
          }
          const std::size_t n = std::min(run.size() - done, last - at);
          for_each_slice(run, done, done + n, [&](const Run& r) {
            kernel::dequantize(codes + (static_cast<std::size_t>(r.source) - first), out.data() + r.target,
                               kernel_span(r, decoded), streaming && r.size() >= 1024);
          });
          done += n;
        }
      });
    });
  }
}
}  // namespace detail

/// Writes the real values of packed codes in memory of the caller's to `out`: row-major, of its shape.
/// Throws: `errc::shape_mismatch`, `errc::bad_axis`, `errc::bad_group_size` when something does not fit.
template <Packing Pack = LowFirst, Backend B = default_backend, AnyParams Params, Executor E = Serial>
void dequantize(std::span<const std::byte> bytes, const Params& params, const TensorView<float>& out, const E& executor = {}) {
  detail::require_fit("tq::dequantize", params, out.shape());
  detail::require_size("tq::dequantize", "bytes of codes", Pack::template bytes_for<typename Params::type>(out.size()),
                       bytes.size());
  detail::dequantize_packed<B, Pack>(bytes, params, out, executor);
}
template <Backend B, AnyParams Params, Executor E = Serial>
void dequantize(std::span<const std::byte> bytes, const Params& params, const TensorView<float>& out, const E& executor = {}) {
  dequantize<LowFirst, B>(bytes, params, out, executor);
}

/// Writes the real values of a packed tensor to `out`, a view of its shape or a span of its size.
/// Throws: `errc::shape_mismatch`.
template <Backend B = default_backend, AnyParams Params, Packing Pack, Executor E = Serial>
void dequantize(const QuantizedTensor<Params, Pack>& q, TensorView<float> out, const E& executor = {}) {
  detail::shape_as("tq::dequantize", "an output", out, q.shape());
  detail::dequantize_packed<B, Pack>(q.bytes(), q.params(), out, executor);
}

/// The real values of a packed tensor, row-major.
template <Backend B = default_backend, AnyParams Params, Packing Pack, Executor E = Serial>
[[nodiscard]] std::vector<float> dequantize(const QuantizedTensor<Params, Pack>& q, const E& executor = {}) {
  std::vector<float> out(q.size());
  dequantize<B>(q, TensorView<float>(out.data(), q.shape()), executor);
  return out;
}

}  // namespace tq

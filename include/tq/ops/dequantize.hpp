// SPDX-License-Identifier: MIT
#pragma once
// dequantize: codes to float32: (code - zero point) * scale of integers, value(code) * scale of the others.

#include <tq/core/packing.hpp>
#include <tq/core/quantized_tensor.hpp>
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
                          const TensorView<float>& out, const E& executor = {}) noexcept(std::same_as<E, Serial>) {
  using code_type = typename Params::code_type;
  const bool streaming = arch::worth_streaming(codes.size() * (sizeof(float) + sizeof(code_type)));
  detail::for_each_task(
      executor, codes.shape(), params.granularity().block(codes.shape()), codes.strides(), out.strides(),
      [&](auto&& each) {
        each([&](const Run& r) {
          detail::code_kernels<B, Params>::dequantize(codes.data() + r.source, out.data() + r.target,
                                                      detail::kernel_span(r, params), streaming);
        });
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

/// Writes the real values of a packed tensor to `out`, a view of its shape or a span of its size.
/// Throws: `errc::shape_mismatch`.
template <Backend B = default_backend, AnyParams Params, Packing Pack, Executor E = Serial>
void dequantize(const QuantizedTensor<Params, Pack>& q, TensorView<float> out, const E& executor = {}) {
  using code_type = typename Params::code_type;
  using type = typename Params::type;
  detail::shape_as("tq::dequantize", "an output", out, q.shape());
  if constexpr (is_unpacked<Pack, type>) {
    dequantize_unchecked<B>(TensorView<const code_type>(q.codes().data(), q.shape()), q.params(), out, executor);
  } else {
    using kernel = detail::code_kernels<B, Params>;
    constexpr std::size_t bits = type::bits;
    constexpr bool fused = Pack::order == BitOrder::low_first && kernel::packs;
    // Otherwise codes are unpacked a cacheful at a time, always from a whole byte on.
    constexpr std::size_t capacity = 4096, unit = Pack::order == BitOrder::digits ? 5 : 8;
    const bool streaming = arch::worth_streaming(q.size() * sizeof(float));
    detail::for_each_task(
        executor, q.shape(), q.params().granularity().block(q.shape()), row_major_strides(q.shape()),
        out.strides(), [&](auto&& each) {
          alignas(64) code_type codes[capacity];
          std::size_t first = 0, last = 0;  // the codes of elements [first, last) are unpacked
          each([&](const Run& run) {
            if constexpr (fused) {
              const bool dense = run.source_stride == static_cast<std::ptrdiff_t>(run.length);
              const auto begin = static_cast<std::size_t>(run.source) * bits;
              if (begin % 8 == 0 && (run.count == 1 || (dense && run.length * bits % 8 == 0)))
                return kernel::unpack(reinterpret_cast<const unsigned char*>(q.bytes().data()) + begin / 8,
                                      out.data() + run.target, detail::kernel_span(run, q.params()),
                                      streaming && run.size() >= 1024);
            }
            for (std::size_t done = 0; done < run.size();) {
              // Rows of a packed tensor follow one another, so source positions count the elements.
              const std::size_t at = static_cast<std::size_t>(run.source) + done;
              if (at < first || at >= last) {
                first = at / unit * unit;
                last = std::min(first + capacity, q.size());
                unpack_unchecked<type, Pack, B>(q.bytes().subspan(Pack::template bytes_for<type>(first)),
                                                std::span(codes).first(last - first));
              }
              const std::size_t n = std::min(run.size() - done, last - at);
              for_each_slice(run, done, done + n, [&](const Run& r) {
                kernel::dequantize(codes + (static_cast<std::size_t>(r.source) - first), out.data() + r.target,
                                   detail::kernel_span(r, q.params()), streaming && r.size() >= 1024);
              });
              done += n;
            }
          });
        });
  }
}

/// The real values of a packed tensor, row-major.
template <Backend B = default_backend, AnyParams Params, Packing Pack, Executor E = Serial>
[[nodiscard]] std::vector<float> dequantize(const QuantizedTensor<Params, Pack>& q, const E& executor = {}) {
  std::vector<float> out(q.size());
  dequantize<B>(q, TensorView<float>(out.data(), q.shape()), executor);
  return out;
}

}  // namespace tq

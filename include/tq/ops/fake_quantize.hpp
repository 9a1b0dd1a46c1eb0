// SPDX-License-Identifier: MIT
#pragma once
// fake_quantize: what a tensor becomes by being quantized and dequantized, without its codes.

#include <tq/ops/decoded_params.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/parts.hpp>
#include <tq/ops/quantize.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tq {

namespace detail {
// Small integers have a kernel that makes no codes; those of other elements are kept for a moment in cache.
template <Backend B, AnyParams Params, NumericsPolicy N>
void fake_quantize_run(const float* x, float* out, const Run& run, const DecodedParams<B, Params>& params, const N& n,
                       bool streaming) noexcept {
  if constexpr (SmallInteger<typename Params::type>) {
    B::template fake_quantize<N>::run(x + run.source, out + run.target, known<Params>(kernel_span(run, params)), kernel_codes<Params>, n,
                                      static_cast<std::uint64_t>(run.target), streaming);
  } else {
    constexpr std::size_t capacity = 4096;
    alignas(64) typename Params::code_type codes[capacity];
    // One stretch of codes behind the other, whatever the strides of the tensors are.
    const auto pass = [&](const Run& r) {
      Run encoded = r, decoded = r;
      encoded.target_stride = decoded.source_stride = static_cast<std::ptrdiff_t>(r.length);
      quantize_span<B, Params>(x + r.source, codes, kernel_span(encoded, params), n, static_cast<std::uint64_t>(r.target), false);
      dequantize_span<B, typename Params::type>(codes, out + r.target, kernel_span(decoded, params), streaming && r.size() >= 1024);
    };
    // Draws are numbered by the place in `out`: stretches apart from one another there are passed one by one.
    constexpr bool draws = !std::same_as<typename N::rounding_type, NearestEven>;
    for (std::size_t done = 0; done < run.size(); done += capacity)
      for_each_slice(run, done, std::min(done + capacity, run.size()), [&](const Run& r) {
        const bool apart = r.count > 1 && r.target_stride != static_cast<std::ptrdiff_t>(r.length);
        const std::size_t step = draws && apart ? r.length : r.size();
        for (std::size_t at = 0; at < r.size(); at += step) for_each_slice(r, at, at + step, pass);
      });
  }
}
}  // namespace detail

/// Writes dequantize(quantize(x)) to `out`, bit for bit. `out` may be `x`.
/// Preconditions: `params.check(x.shape()) == errc::ok`, the shapes are equal.
template <Backend B = default_backend, AnyParams Params, NumericsPolicy N = numerics::onnx, Executor E = Serial>
void fake_quantize_unchecked(const ConstTensorView& x, const Params& params, const TensorView<float>& out,
                             const N& numerics = {},
                             const E& executor = {}) noexcept(std::same_as<E, Serial> && detail::reads_in_place<Params>) {
  const bool streaming = arch::worth_streaming(x.size() * 2 * sizeof(float));
  const Shape block = params.granularity().block(x.shape());
  const detail::DecodedParams<B, Params> decoded(params);
  if (const std::size_t n = detail::whole_run(executor, x.shape(), block, x.strides(), out.strides()); n != 0)
    return detail::fake_quantize_run<B, Params>(x.data(), out.data(), {.length = n, .count = 1}, decoded, numerics, streaming);
  detail::for_each_task(
      executor, x.shape(), block, x.strides(), out.strides(), [&](auto&& each) {
        each([&](const Run& r) {
          detail::fake_quantize_run<B, Params>(x.data(), out.data(), r, decoded, numerics, streaming);
        });
      });
}

/// Writes dequantize(quantize(x)) to `out` (a span of x.size() elements, or a view of the shape of x), which
/// may be `x` itself.
/// Throws: `errc::shape_mismatch`, `errc::bad_axis`, `errc::bad_group_size` when something does not fit;
/// `errc::not_finite` under `NanRaises`. Nothing is written then.
template <Backend B = default_backend, AnyParams Params, NumericsPolicy N = numerics::onnx, Executor E = Serial>
void fake_quantize(const ConstTensorView& x, const Params& params, TensorView<float> out, const N& numerics = {},
                   const E& executor = {}) {
  detail::require_fit("tq::fake_quantize", params, x.shape());
  detail::shape_as("tq::fake_quantize", "an output", out, x.shape());
  detail::require_no_nan<B, N>("tq::fake_quantize", x);
  fake_quantize_unchecked<B>(x, params, out, numerics, executor);
}

/// dequantize(quantize(x)), row-major.
template <Backend B = default_backend, AnyParams Params, NumericsPolicy N = numerics::onnx, Executor E = Serial>
[[nodiscard]] std::vector<float> fake_quantize(const ConstTensorView& x, const Params& params, const N& numerics = {},
                                               const E& executor = {}) {
  std::vector<float> out(x.size());
  fake_quantize<B>(x, params, TensorView<float>(out.data(), x.shape()), numerics, executor);
  return out;
}

}  // namespace tq

// SPDX-License-Identifier: MIT
#pragma once
// fake_quantize: what a tensor becomes by being quantized and dequantized, without its codes.

#include <tq/ops/parts.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tq {

/// Writes dequantize(quantize(x)) to `out`, bit for bit. `out` may be `x`.
/// Preconditions: `params.check(x.shape()) == errc::ok`, the shapes are equal.
template <Backend B = default_backend, IntegerParams Params, NumericsPolicy N = numerics::onnx, Executor E = Serial>
void fake_quantize_unchecked(ConstTensorView x, const Params& params, TensorView<float> out,
                             const N& numerics = {}, const E& executor = {}) noexcept(std::same_as<E, Serial>) {
  const bool streaming = arch::worth_streaming(x.size() * 2 * sizeof(float));
  detail::for_each_task(
      executor, x.shape(), params.granularity().block(x.shape()), x.strides(), out.strides(), [&](auto&& each) {
        each([&](const Run& r) {
          B::template fake_quantize<N>::run(x.data() + r.source, out.data() + r.target,
                                            detail::kernel_span(r, params), detail::kernel_codes<Params>, numerics,
                                            static_cast<std::uint64_t>(r.target), streaming);
        });
      });
}

/// Writes dequantize(quantize(x)) to `out` (a span of x.size() elements, or a view of the shape of x), which
/// may be `x` itself.
/// Throws: `errc::shape_mismatch`, `errc::bad_axis`, `errc::bad_group_size` when something does not fit;
/// `errc::not_finite` under `NanRaises`. Nothing is written then.
template <Backend B = default_backend, IntegerParams Params, NumericsPolicy N = numerics::onnx, Executor E = Serial>
void fake_quantize(ConstTensorView x, const Params& params, TensorView<float> out, const N& numerics = {},
                   const E& executor = {}) {
  detail::require_fit("tq::fake_quantize", params, x.shape());
  out = detail::shaped("tq::fake_quantize", "an output", out, x.shape());
  detail::require_no_nan<N>("tq::fake_quantize", x);
  fake_quantize_unchecked<B>(x, params, out, numerics, executor);
}

/// dequantize(quantize(x)), row-major.
template <Backend B = default_backend, IntegerParams Params, NumericsPolicy N = numerics::onnx, Executor E = Serial>
[[nodiscard]] std::vector<float> fake_quantize(ConstTensorView x, const Params& params, const N& numerics = {},
                                               const E& executor = {}) {
  std::vector<float> out(x.size());
  fake_quantize<B>(x, params, TensorView<float>(out.data(), x.shape()), numerics, executor);
  return out;
}

}  // namespace tq

// SPDX-License-Identifier: MIT
#pragma once
// copy: a tensor in another layout.

#include <tq/ops/columns.hpp>
#include <tq/ops/parts.hpp>

#include <algorithm>
#include <cstddef>

namespace tq {

/// Writes the elements of `x` to `out`. The two do not overlap, or are the same.
/// Precondition: the shapes are equal.
template <Executor E = Serial>
void copy_unchecked(const ConstTensorView& x, const TensorView<float>& out, const E& executor = {}) {
  if (x.data() == out.data() && x.strides() == out.strides()) return;
  detail::for_each_span(executor, x, out, PerTensor::block(x.shape()), nullptr, nullptr,
                        [](const float* from, float* to, const kernels::Span& span) {
                          for (std::size_t k = 0; k < span.count; ++k) {
                            const auto row = static_cast<std::ptrdiff_t>(k);
                            std::copy_n(from + row * span.source_stride, span.length, to + row * span.target_stride);
                          }
                        });
}

/// As above. `out` is a span of x.size() elements, or a view of the shape of x.
/// Throws: `errc::shape_mismatch`. Nothing is written then.
template <Executor E = Serial>
void copy(const ConstTensorView& x, TensorView<float> out, const E& executor = {}) {
  detail::shape_as("tq::copy", "an output", out, x.shape());
  copy_unchecked(x, out, executor);
}

}  // namespace tq

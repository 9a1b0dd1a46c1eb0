// SPDX-License-Identifier: MIT
#pragma once
// copy: a tensor in another layout.

#include <tq/driver/loops.hpp>
#include <tq/kernels/floats.hpp>
#include <tq/kernels/reals.hpp>
#include <tq/ops/parts.hpp>
#include <tq/ops/sweep.hpp>

namespace tq {

/// Writes the elements of `x` to `out`. The two do not overlap, or are the same.
/// Precondition: the shapes are equal.
template <Executor E = Serial>
void copy_unchecked(const ConstTensorView& x, const TensorView<float>& out,
                    const E& executor = {}) {
  if (x.data() == out.data() && x.strides() == out.strides()) return;
  using Arch = default_backend::arch;
  const Shape block = PerTensor::block(x.shape());
  detail::sweep_tensor(
      driver::kernel<Arch, kernels::Float32, kernels::Same, kernels::ToFloats<float>>,
      {x.data(), x.strides(), out.data(), out.strides()}, x.shape(), block,
      {.scales = driver::ones<Arch>()}, executor);
}

/// As above. `out` is a span of x.size() elements, or a view of the shape of x.
/// Throws: `errc::shape_mismatch`. Nothing is written then.
template <Executor E = Serial>
void copy(const ConstTensorView& x, TensorView<float> out, const E& executor = {}) {
  detail::shape_as("tq::copy", "an output", out, x.shape());
  copy_unchecked(x, out, executor);
}

}  // namespace tq

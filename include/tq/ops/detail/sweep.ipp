// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/ops/detail/sweep.hpp.

#include <tq/ops/detail/sweep.hpp>

namespace tq::detail {

TQ_CORE_API TensorSpans::TensorSpans(const Shape& shape, const Shape& block, const Strides& source,
                                     const Strides& target) noexcept
    : axes_(run_axes(shape, block, target,
                     source)) {  // in the order of the target: its `source` is our target
  for (int i = 0; i < axes_.rank; ++i) std::swap(axes_[i].source, axes_[i].target);
  if (axes_.rank == 1) axes_[axes_.rank++] = {1, 1, 0, 0, 0};
  // Where a row has no neighbours in the source, it is best read beside those that are.
  if (distance(axes_[0].source) != 1)
    for (int i = 2; i < axes_.rank; ++i)
      if (distance(axes_[i].source) < distance(axes_[1].source)) std::swap(axes_[1], axes_[i]);
}

TQ_CORE_API bool TensorSpans::pack_in_place(int bits) const noexcept {
  const RunAxis& inner = axes_[0];
  if (inner.source != 1 && inner.block < inner.extent && inner.block % 8 != 0) return false;
  for (int i = 1; i < axes_.rank; ++i)
    if (axes_[i].extent != 1 && axes_[i].target % 8 * bits % 8 != 0) return false;
  return true;
}

#ifdef TQ_KERNEL_LIBRARY
template void sweep_tensor(const driver::BoundKernel&, const TensorOperands&, const Shape&,
                           const Shape&, const driver::Parameters&, const Serial&);
#endif

}  // namespace tq::detail

// SPDX-License-Identifier: MIT
#pragma once
// kernel_of: which kernel does an operation, and by which stage. One file for each kind of
// operation specializes it.

#include <tq/driver/compiled.hpp>

namespace tq::detail {

// A specialization has the `kernel` for an instruction set, and `stage(operation)`.
template <class Arch, class Operation>
struct kernel_of;

template <class Arch, class Operation>
void sweep_for(const void* operation, const driver::Operands& operands, const driver::Span& span,
               const driver::Parameters& params, const driver::Tuning& tuning) noexcept {
  using Its = kernel_of<Arch, Operation>;
  const auto stage = Its::stage(driver::state_of<Operation>(operation));
  sweep(driver::bind(Its::kernel, stage), operands, span, params, tuning);
}

// The kernel whose stage is made of an operation.
template <class Arch, class Operation>
inline constexpr driver::Kernel operation_kernel{
    kernel_of<Arch, Operation>::kernel.untyped.source_bits,
    kernel_of<Arch, Operation>::kernel.untyped.sink_bits, &sweep_for<Arch, Operation>};

}  // namespace tq::detail

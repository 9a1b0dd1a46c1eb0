// SPDX-License-Identifier: MIT
#pragma once
// kernel_of: which kernel does an operation, and by which stage. One file for each kind of
// operation specializes it.

#include <tq/driver/any_kernel.hpp>
#include <tq/driver/loops.hpp>
#include <tq/driver/sweep.hpp>

namespace tq::detail {

// A specialization has the `kernel` for an instruction set, and `stage(operation)`.
template <class Arch, class Operation>
struct kernel_of;

template <class Arch, class Operation>
void sweep_by(const void* operation, const driver::Operands& operands, const driver::Span& span,
              const driver::Parameters& params, const driver::Tuning& tuning) noexcept {
  using Its = kernel_of<Arch, Operation>;
  const auto stage = Its::stage(*static_cast<const Operation*>(operation));
  driver::Operands own = operands;
  own.stage = &stage;
  driver::sweep(Its::kernel, own, span, params, tuning);
}

// The same without its instruction set.
template <class Arch, class Operation>
inline constexpr driver::AnyKernel any_kernel{
    kernel_of<Arch, Operation>::kernel.source_bits, kernel_of<Arch, Operation>::kernel.sink_bits,
    kernel_of<Arch, Operation>::kernel.pack != nullptr, &sweep_by<Arch, Operation>};

}  // namespace tq::detail

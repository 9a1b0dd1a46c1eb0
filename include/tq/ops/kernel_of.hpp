// SPDX-License-Identifier: MIT
#pragma once
// kernel_of: which kernel does an operation. One file for each kind of operation specializes it.

#include <tq/driver/compiled.hpp>

#include <type_traits>

namespace tq::detail {

// A specialization has the `kernel` for an instruction set.
template <class Arch, class Operation>
struct kernel_of;

// The stage of a kernel, made of those numbers of an operation that it has.
template <class Arch, class Stage, class Operation>
constexpr Stage stage_of(driver::KernelFor<Stage>, const Operation& o) noexcept {
  if constexpr (requires { Stage{o.range, o.numerics}; }) {
    return Stage{o.range, o.numerics};
  } else if constexpr (requires { Stage{o.numerics}; }) {
    return Stage{o.numerics};
  } else {
    static_assert(std::is_empty_v<Stage>, "tq: a stage whose numbers the operation has not");
    return {};
  }
}

template <class Arch, class Operation>
void sweep_for(const void* operation, const driver::Operands& operands, const driver::Span& span,
               const driver::Parameters& params, const driver::Tuning& tuning) noexcept {
  constexpr auto kernel = kernel_of<Arch, Operation>::kernel;
  const auto stage = stage_of<Arch>(kernel, driver::state_of<Operation>(operation));
  sweep(driver::bind(kernel, stage), operands, span, params, tuning);
}

// The kernel whose stage is made of an operation.
template <class Arch, class Operation>
inline constexpr driver::Kernel operation_kernel{
    kernel_of<Arch, Operation>::kernel.untyped.source_bits,
    kernel_of<Arch, Operation>::kernel.untyped.sink_bits, &sweep_for<Arch, Operation>};

}  // namespace tq::detail

// SPDX-License-Identifier: MIT
#pragma once
// kernel_of: which kernel does an operation. One file for each kind of operation specializes it.

#include <tq/driver/make_kernel.hpp>

#include <type_traits>

namespace tq::detail {

// A specialization's `type` is the policies of the kernel.
template <class Operation>
struct kernel_of;

// The stage of a kernel, made of those numbers of an operation that it has.
template <class Stage, class Operation>
constexpr Stage stage_of(const Operation& o) noexcept {
  if constexpr (requires { Stage{o.range, o.numerics}; }) {
    return Stage{o.range, o.numerics};
  } else if constexpr (requires { Stage{o.numerics}; }) {
    return Stage{o.numerics};
  } else {
    static_assert(std::is_empty_v<Stage>, "tq: a stage whose numbers the operation has not");
    return {};
  }
}

template <class Arch, class Operation, driver::KnownParameters Known>
void sweep_for(const void* operation, const driver::Operands& operands, const driver::Span& span,
               const driver::Parameters& params, const driver::Tuning& tuning) noexcept {
  using Policies = typename kernel_of<Operation>::type;
  const auto stage = stage_of<typename Policies::stage>(driver::state_of<Operation>(operation));
  sweep(driver::bind(Policies::template kernel<Arch, Known>, stage), operands, span, params,
        tuning);
}

// The kernel whose stage is made of an operation.
template <class Arch, class Operation, driver::KnownParameters Known = driver::KnownParameters{}>
inline constexpr driver::Kernel operation_kernel{kernel_of<Operation>::type::source_bits,
                                                 kernel_of<Operation>::type::sink_bits,
                                                 &sweep_for<Arch, Operation, Known>};

}  // namespace tq::detail

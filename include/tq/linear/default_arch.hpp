// SPDX-License-Identifier: MIT
#pragma once
// default_arch: the instruction set of layers and products that name none.

#include <tq/arch/isa.hpp>

#include <concepts>

namespace tq {

namespace kernel_library {
/// Stands for the instruction set of the library that runs (`tq_add_kernels`), in place of one that
/// the compiler flags name: products call the functions of its table.
struct Running;
}  // namespace kernel_library

/// In programs that link the kernel library: `kernel_library::Running`. In others: the best
/// instruction set that the compiler flags of this build allow.
#if defined(TQ_KERNEL_LIBRARY)
using default_arch = kernel_library::Running;
#else
using default_arch = arch::native;
#endif

namespace detail {
// True for the instruction set of the library that runs.
template <class Arch>
inline constexpr bool is_library = std::same_as<Arch, kernel_library::Running>;
}  // namespace detail

}  // namespace tq

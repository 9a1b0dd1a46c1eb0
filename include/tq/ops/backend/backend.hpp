// SPDX-License-Identifier: MIT
#pragma once
// Backends: where kernels come from. A backend is a type parameter of everything that reaches a
// kernel, so choosing another one changes the symbol, never the meaning of a symbol.

#if defined(TQ_KERNEL_LIBRARY)
#include <tq/ops/backend/library.hpp>
#else
#include <tq/ops/backend/native_backend.hpp>
#endif

namespace tq {

/// A source of kernels. Models: `backend::native`, `backend::library`.
template <class B>
concept Backend = requires {
  typename B::min_max;
  typename B::tiles;
};

/// In programs that link the kernel library (tq_add_kernels in CMake): its kernels. In others: the
/// kernels for the best instruction set that the compiler flags of this build allow.
#if defined(TQ_KERNEL_LIBRARY)
using default_backend = backend::library;
#else
using default_backend = backend::native<arch::native>;
#endif

}  // namespace tq

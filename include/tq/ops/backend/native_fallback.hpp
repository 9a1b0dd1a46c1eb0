// SPDX-License-Identifier: MIT
#pragma once
// Kernels of operations that the library has not. Declared apart from it, so that who compiles
// kernels does not make its lists.

#include <tq/driver/known_parameters.hpp>

namespace tq::kernel_library::detail {

// Both come with <tq/ops/backend/native_backend.hpp>.
template <class Operation, driver::KnownParameters Known>
struct include_tq_ops_native_hpp;
template <bool Integers, class N, class Gradient>
struct include_tq_ops_native_hpp_for_gradients;

}  // namespace tq::kernel_library::detail

// SPDX-License-Identifier: MIT
#pragma once
// Kernels of operations outside the library. A header of its own: files that compile kernels do not
// read the lists of the library.

#include <tq/driver/known_parameters.hpp>

namespace tq::kernel_library::detail {

// Both come with <tq/ops/backend/native_backend.hpp>.
template <class Operation, driver::KnownParameters Known>
struct include_tq_ops_native_hpp;
template <bool Integers, class N, class Gradient>
struct include_tq_ops_native_hpp_for_gradients;

}  // namespace tq::kernel_library::detail

// SPDX-License-Identifier: MIT
// The instruction set that runs is the one that a case tests.
#include "kernel_library/isas.hpp"

std::size_t tq::kernel_library::running() noexcept { return kernel_library_test::chosen; }

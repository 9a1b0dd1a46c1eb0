// SPDX-License-Identifier: MIT
#pragma once
// scalar: the instruction set that has no SIMD.

#include <tq/config.hpp>

namespace tq::arch {

/// No SIMD: kernels are the scalar reference.
struct scalar {
  static constexpr const char* name() noexcept { return "scalar"; }
};

}  // namespace tq::arch

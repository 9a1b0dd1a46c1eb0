// expect: compiles
// SPDX-License-Identifier: MIT
// Who takes a kernel needs neither SIMD nor the inside of the driver.
#include <tq/driver/kernel.hpp>

#if defined(XSIMD_VERSION_MAJOR) || defined(TQ_HAS_SIMD)
#error "tq/driver/kernel.hpp includes an instruction set"
#endif
namespace tq::driver {
class Table;  // not a template here
}
void copy(tq::driver::BoundKernel kernel, const float* x, float* out, std::size_t n) {
  sweep(kernel, {.source = x, .target = out}, {.length = n}, {});
}

// expect: initialization of reference|is_empty_v
// SPDX-License-Identifier: MIT
#include <tq/driver/make_kernel.hpp>
#include <tq/kernels/quantize.hpp>
#include <tq/kernels/reals.hpp>
#include <tq/kernels/to_codes.hpp>

void codes(const float* x, std::int8_t* out, std::size_t n) {
  using Stage = tq::kernels::Quantize<std::int8_t, tq::Numerics<>>;
  tq::driver::sweep(
      tq::driver::kernel<tq::arch::native, tq::kernels::Float32, Stage, tq::kernels::ToBytes>,
      {.source = x, .target = out}, {.length = n}, {});
}

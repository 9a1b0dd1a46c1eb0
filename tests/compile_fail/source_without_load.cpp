// expect: a source has `registers` and `load`
// SPDX-License-Identifier: MIT
#include <tq/driver/make_kernel.hpp>
#include <tq/kernels/floats.hpp>
#include <tq/kernels/reals.hpp>

struct Bytes {
  static constexpr int bits = 8;
  template <class Arch>
  static float one(const unsigned char* p, std::size_t i) noexcept {
    return p[i];
  }
  template <class Arch>
  using registers = tq::arch::floats<Arch>;
};
auto kernel =
    tq::driver::kernel<tq::arch::native, Bytes, tq::kernels::Same, tq::kernels::ToFloats<float>>;

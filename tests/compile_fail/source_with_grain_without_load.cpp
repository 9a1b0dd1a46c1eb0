// expect: a source with a `grain` has `load\(p, i, v\)`
// SPDX-License-Identifier: MIT
#include <tq/driver/make_kernel.hpp>
#include <tq/kernels/floats.hpp>
#include <tq/kernels/reals.hpp>

struct Reversed {
  static constexpr int bits = 0;
  using loose = tq::kernels::Float32;
  template <class Arch>
  static constexpr std::size_t grain = 4;
  template <class Arch>
  static float one(const unsigned char* p, std::size_t i) noexcept {
    return p[255 - i];
  }
  template <class Arch>
  static void unpack(const unsigned char*, std::size_t, std::size_t, unsigned char*) noexcept {}
  template <class Arch>
  using registers = tq::arch::floats<Arch>;
  template <class Arch>
  static void load(const unsigned char* p, tq::arch::floats<Arch> (&v)[4]) noexcept;
};
auto kernel =
    tq::driver::kernel<tq::arch::native, Reversed, tq::kernels::Same, tq::kernels::ToFloats<float>>;

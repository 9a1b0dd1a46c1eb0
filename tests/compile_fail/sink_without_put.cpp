// expect: a sink has `put` for what the stage makes
// SPDX-License-Identifier: MIT
#include <tq/driver/make_kernel.hpp>
#include <tq/kernels/quantize.hpp>
#include <tq/kernels/reals.hpp>

// Registers of floats, where the stage makes codes.
struct Codes {
  static constexpr int bits = 8;
  template <class Arch>
  static void put_one(unsigned char* p, std::size_t i, std::int32_t code) noexcept {
    p[i] = static_cast<unsigned char>(code);
  }
  template <class Arch, bool Stream>
  static void put(unsigned char* p, const tq::arch::floats<Arch> (&v)[4]) noexcept;
};
using Stage = tq::kernels::Quantize<std::int8_t, tq::Numerics<>>;
auto kernel = tq::driver::kernel<tq::arch::native, tq::kernels::Float32, Stage, Codes>;

// expect: a stage says what it `divides` by
// SPDX-License-Identifier: MIT
#include <tq/driver/make_kernel.hpp>
#include <tq/kernels/floats.hpp>
#include <tq/kernels/reals.hpp>

struct Quotient {
  static constexpr bool takes_origins = false, draws = false;
  template <class Arch>
  static constexpr tq::driver::Divides devides = tq::driver::Divides::by_reciprocals;
  template <class Arch>
  static float one(float v, float scale, std::int32_t, std::uint64_t) noexcept {
    return v * (1 / scale);
  }
  template <class Arch, bool, class P>
  static tq::arch::floats<Arch> lanes(const tq::arch::floats<Arch>& v, const P& p, std::size_t i,
                                      std::size_t k) noexcept {
    return p.divided(v, i, k);
  }
};
auto kernel = tq::driver::kernel<tq::arch::native, tq::kernels::Float32, Quotient,
                                 tq::kernels::ToFloats<float>>;

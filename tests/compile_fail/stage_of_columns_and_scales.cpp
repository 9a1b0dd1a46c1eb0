// expect: a stage that names `columns` takes neither scales nor origins
// SPDX-License-Identifier: MIT
#include <tq/driver/make_kernel.hpp>
#include <tq/kernels/floats.hpp>
#include <tq/kernels/reals.hpp>

struct Shifted {
  static constexpr std::size_t columns = 1;
  static constexpr bool takes_scales = true, takes_origins = false, draws = false;
  template <class Arch>
  static constexpr tq::driver::Divides divides = tq::driver::Divides::no;
  template <class Arch, class P>
  static float one(float v, const P& p, std::size_t i, std::uint64_t) noexcept {
    return v + p.template number<float>(0, i);
  }
  template <class Arch, bool, class P>
  static tq::arch::floats<Arch> lanes(const tq::arch::floats<Arch>& v, const P& p, std::size_t i,
                                      std::size_t k) noexcept {
    return v + p.template numbers<float>(0, i, k);
  }
};
auto kernel = tq::driver::kernel<tq::arch::native, tq::kernels::Float32, Shifted,
                                 tq::kernels::ToFloats<float>>;

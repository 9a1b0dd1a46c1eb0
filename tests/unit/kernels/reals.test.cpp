// SPDX-License-Identifier: MIT
#include <tq/kernels/reals.hpp>

#include <tq/driver/make_kernel.hpp>
#include <tq/kernels/floats.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"

TEST_CASE("what stays the same keeps every bit, of NaN too", "[reals]") {
  using Arch = tq::arch::native;
  using namespace tq::kernels;
  inputs::Random r(1);
  std::vector<std::uint32_t> bits(1000), got(1001, 7u);
  for (std::uint32_t& b : bits) b = static_cast<std::uint32_t>(r.bits());
  for (std::size_t i = 0; i < bits.size(); i += 9) bits[i] |= 0x7f800000u;  // NaN of all kinds
  for (const bool streams : {false, true}) {
    std::fill(got.begin(), got.end(), 7u);
    tq::driver::sweep(tq::driver::kernel<Arch, Float32, Same, ToFloats<float>>,
                      {.source = bits.data(), .target = got.data(), .streams = streams},
                      {.length = bits.size()}, {.scales = tq::driver::ones<Arch>()});
    CHECK(std::memcmp(got.data(), bits.data(), bits.size() * 4) == 0);
    CHECK(got.back() == 7u);
  }
}

// SPDX-License-Identifier: MIT
#include <tq/arch/isa.hpp>
#include <tq/arch/tap_dot.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"

namespace {

using dot = tq::arch::tap_dot<tq::arch::native>;

template <class Code, std::size_t Registers>
bool lanes_are_channels(inputs::Random& r) {
  using limits = std::numeric_limits<Code>;
  constexpr std::size_t n = Registers * dot::width;
  std::vector<Code> p(n), q(n);  // nothing may be read behind them
  for (std::size_t i = 0; i < n; ++i) {
    p[i] =
        static_cast<Code>(r.chance(25) ? limits::max() : r.between(limits::min(), limits::max()));
    q[i] =
        static_cast<Code>(r.chance(25) ? limits::min() : r.between(limits::min(), limits::max()));
  }
  std::vector<std::int16_t> w(2 * n);
  for (auto& v : w) v = static_cast<std::int16_t>(r.chance(25) ? -255 : r.between(-255, 255));
  std::vector<std::int32_t> out(n + 1, 77);
  typename dot::numbers codes[Registers];
  dot::beside(p.data(), q.data(), codes);
  for (std::size_t i = 0; i < Registers; ++i) {
    auto sums = dot::zero();
    for (int times = 0; times < 3; ++times)
      sums = dot::add(sums, codes[i], dot::pairs(w.data() + 2 * i * dot::width));
    dot::store(out.data() + i * dot::width, sums);
  }
  bool equal = out[n] == 77;
  for (std::size_t i = 0; i < n; ++i)
    equal = equal && out[i] == 3 * (p[i] * w[2 * i] + q[i] * w[2 * i + 1]);
  return equal;
}

}  // namespace

TEST_CASE("lanes sum two codes of their channel times its weights") {
  inputs::Random r(1);
  bool equal = true;
  for (int round = 0; round < 1000; ++round)
    equal = equal && lanes_are_channels<std::uint8_t, 1>(r) &&
            lanes_are_channels<std::int8_t, 1>(r) && lanes_are_channels<std::uint8_t, 4>(r) &&
            lanes_are_channels<std::int8_t, 4>(r);
  CHECK(equal);
}

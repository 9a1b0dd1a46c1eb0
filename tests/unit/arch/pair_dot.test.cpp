// SPDX-License-Identifier: MIT
#include <tq/arch/isa.hpp>
#include <tq/arch/pair_dot.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"

using dot = tq::arch::pair_dot<tq::arch::native>;

TEST_CASE("lanes sum the products of their pairs, whatever the numbers are, modulo 2^32") {
  inputs::Random r(1);
  constexpr std::size_t n = dot::width;
  bool equal = true;
  for (int round = 0; round < 2000; ++round) {
    // Numbers of 9 bits, and sometimes the largest of 16.
    const int most = round % 8 == 0 ? 32767 : 255;
    const std::int16_t x[2] = {static_cast<std::int16_t>(r.between(-most, most)),
                               static_cast<std::int16_t>(r.between(-most, most))};
    std::vector<std::int8_t> w(2 * n + 1);
    for (auto& v : w) v = static_cast<std::int8_t>(r.chance(25) ? -128 : r.between(-128, 127));
    std::vector<std::int32_t> out(n + 1, 77);
    const std::int8_t* from = w.data() + round % 2;  // unaligned, too
    auto sums = dot::zero();
    const int times = round % 16 == 0 ? 300 : 3;
    for (int i = 0; i < times; ++i) sums = dot::add(sums, dot::splat(x), dot::load(from));
    dot::store(out.data(), sums);
    for (std::size_t i = 0; i < n; ++i) {
      const std::int64_t wanted =
          times * (std::int64_t{x[0]} * from[2 * i] + std::int64_t{x[1]} * from[2 * i + 1]);
      equal = equal && out[i] == static_cast<std::int32_t>(static_cast<std::uint32_t>(wanted));
    }
    equal = equal && out[n] == 77;
  }
  CHECK(equal);
}

TEST_CASE("numbers of 16 bits are read from memory in the order of lanes") {
  inputs::Random r(2);
  constexpr std::size_t n = dot::width;
  std::vector<std::int16_t> x(2 * n + 1);
  for (auto& v : x) v = static_cast<std::int16_t>(r.between(-32768, 32767));
  const std::int16_t pair[2] = {3, -2};
  std::vector<std::int32_t> out(n);
  for (const std::size_t from : {0u, 1u}) {  // unaligned, too
    dot::store(out.data(),
               dot::add(dot::zero(), dot::splat(pair), dot::load_numbers(x.data() + from)));
    bool equal = true;
    for (std::size_t i = 0; i < n; ++i)
      equal = equal && out[i] == 3 * x[from + 2 * i] - 2 * x[from + 2 * i + 1];
    CHECK(equal);
  }
}

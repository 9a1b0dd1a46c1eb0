// SPDX-License-Identifier: MIT
#include <tq/arch/byte_dot.hpp>
#include <tq/arch/isa.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"

namespace {

// Where there are no instructions for bytes these are the dot of pairs, which has to do the same.
template <class Number>
using dot_of = tq::arch::best_dot<tq::arch::native, Number>;

template <class dot>
bool lanes_are_exact() {
  inputs::Random r(1);
  constexpr std::size_t n = dot::width, depth = dot::depth;
  using number = typename dot::number;
  using limits = std::numeric_limits<number>;
  const int least = std::max<int>(limits::min(), -255), most = std::min<int>(limits::max(), 255);
  constexpr int lightest = tq::arch::NarrowDot<dot> ? -64 : -128,
                heaviest = tq::arch::NarrowDot<dot> ? 64 : 127;
  bool equal = true;
  for (int round = 0; round < 2000; ++round) {
    number x[depth];
    for (number& v : x)
      v = static_cast<number>(r.chance(25) ? (r.chance(50) ? least : most)
                                           : r.between(least, most));
    std::vector<std::int8_t> w(depth * n + 1);
    for (auto& v : w)
      v = static_cast<std::int8_t>(r.chance(25) ? lightest : r.between(lightest, heaviest));
    std::vector<std::int32_t> start(n + 1), out(n + 1, 77);
    for (auto& v : start)
      v = r.chance(25) ? std::numeric_limits<std::int32_t>::min() : r.between(-100, 100);
    const std::int8_t* from = w.data() + round % 2;  // unaligned, too
    auto sums = dot::read(start.data() + round % 2), others = dot::zero();
    const int times = round % 16 == 0 ? 300 : 3;
    for (int i = 0; i < times; ++i) {
      sums = dot::add(sums, dot::splat(x), dot::load(from));
      others = dot::add(others, dot::splat(x), dot::load(from));
    }
    dot::store(out.data(), dot::plus(sums, others));
    for (std::size_t i = 0; i < n; ++i) {
      std::int64_t wanted = 0;
      for (std::size_t d = 0; d < depth; ++d)
        wanted += 2 * times * std::int64_t{x[d]} * from[depth * i + d];
      wanted += start[i + static_cast<std::size_t>(round % 2)];
      equal = equal && out[i] == static_cast<std::int32_t>(static_cast<std::uint32_t>(wanted));
    }
    equal = equal && out[n] == 77;
  }
  return equal;
}

}  // namespace

TEST_CASE("lanes sum the products of their numbers and of what was there, modulo 2^32") {
  CHECK(lanes_are_exact<dot_of<std::uint8_t>>());
  CHECK(lanes_are_exact<dot_of<std::int8_t>>());
}

TEST_CASE("dots for rows of either sign read weights in the same order") {
  STATIC_REQUIRE(dot_of<std::uint8_t>::depth == dot_of<std::int8_t>::depth);
  STATIC_REQUIRE(dot_of<std::uint8_t>::columns == dot_of<std::int8_t>::columns);
}

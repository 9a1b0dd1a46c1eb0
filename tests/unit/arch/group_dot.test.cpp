// SPDX-License-Identifier: MIT
#include <tq/arch/group_dot.hpp>
#include <tq/arch/isa.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"

using dot = tq::arch::group_dot<tq::arch::best_group<tq::arch::native>>;

namespace {

// The sums of `steps` steps of levels up to `highest`, 1000 times.
template <bool Wide>
bool sums_are_exact(int highest, std::size_t steps) {
  inputs::Random r(static_cast<std::uint64_t>(highest));
  constexpr std::size_t n = dot::width;
  bool equal = true;
  for (int round = 0; round < 1000; ++round) {
    const std::int32_t start = r.between(-100'000, 100'000);
    std::vector<std::int64_t> wanted(n, start);
    auto parts = dot::begin(dot::all(start));
    const bool worst = round % 4 == 0;
    for (std::size_t s = 0; s < steps; ++s) {
      std::vector<std::uint8_t> levels(4 * n + 1);
      std::int8_t x[4];
      for (auto& v : levels) v = static_cast<std::uint8_t>(worst ? highest : r.between(0, highest));
      for (auto& v : x)
        v = static_cast<std::int8_t>(worst ? (round % 8 == 0 ? -128 : 127) : r.between(-128, 127));
      const std::uint8_t* from = levels.data() + round % 2;  // unaligned, too
      parts = dot::template add<Wide>(parts, dot::load(from), dot::splat(x));
      for (std::size_t i = 0; i < 4 * n; ++i) wanted[i / 4] += from[i] * x[i % 4];
    }
    std::vector<float> out(n + 1, 77.0f);
    dot::write(out.data(), dot::value(dot::template end<Wide>(dot::all(start), parts)));
    for (std::size_t i = 0; i < n; ++i) equal = equal && out[i] == static_cast<float>(wanted[i]);
    equal = equal && out[n] == 77.0f;
  }
  return equal;
}

}  // namespace

TEST_CASE(
    "lanes sum the products of four levels and four numbers exactly, to what they may reach") {
  CHECK(sums_are_exact<false>(15, 8));
  CHECK(sums_are_exact<false>(31, 4));
  CHECK(sums_are_exact<false>(7, 8));
  CHECK(sums_are_exact<true>(255, 8));
}

TEST_CASE("every pair of a level and a number has its product") {
  bool equal = true;
  for (int a = 0; a < 256; ++a)
    for (int b = -128; b < 128; ++b) {
      std::vector<std::uint8_t> levels(4 * dot::width, static_cast<std::uint8_t>(a));
      const std::int8_t x[4] = {static_cast<std::int8_t>(b), 0, 0, 0};
      const auto parts =
          dot::template add<true>(dot::begin(dot::all(0)), dot::load(levels.data()), dot::splat(x));
      std::vector<float> out(dot::width);
      dot::write(out.data(), dot::value(dot::template end<true>(dot::all(0), parts)));
      equal = equal && out[0] == static_cast<float>(a * b) && out.back() == out[0];
    }
  CHECK(equal);
}

TEST_CASE("bits of bytes are taken, joined and looked up") {
  inputs::Random r(5);
  constexpr std::size_t n = 4 * dot::width;
  std::vector<std::uint8_t> a(n), b(n), table(16), out(n);
  for (auto& v : a) v = static_cast<std::uint8_t>(r.bits());
  for (auto& v : b) v = static_cast<std::uint8_t>(r.bits());
  for (auto& v : table) v = static_cast<std::uint8_t>(r.bits());
  const auto equals = [&](auto levels, auto wanted) {
    dot::store(out.data(), levels);
    bool equal = true;
    for (std::size_t i = 0; i < n; ++i) equal = equal && out[i] == wanted(i);
    return equal;
  };
  const auto va = dot::load(a.data()), vb = dot::load(b.data());
  CHECK(equals(dot::template field<0, 15>(va), [&](std::size_t i) { return a[i] & 15; }));
  CHECK(equals(dot::template field<4, 15>(va), [&](std::size_t i) { return a[i] >> 4; }));
  CHECK(equals(dot::template field<6, 3>(va), [&](std::size_t i) { return a[i] >> 6; }));
  CHECK(equals(dot::template field<7, 1>(va), [&](std::size_t i) { return a[i] >> 7; }));
  CHECK(equals(dot::template join<2>(dot::template field<2, 3>(va), dot::template field<5, 1>(vb)),
               [&](std::size_t i) { return (a[i] >> 2 & 3) | (b[i] >> 5 & 1) << 2; }));
  CHECK(equals(dot::lookup(dot::table(table.data()), dot::template field<4, 15>(va)),
               [&](std::size_t i) { return table[a[i] >> 4]; }));
}

TEST_CASE("bytes become integers and floats, and products are added with one rounding") {
  inputs::Random r(6);
  constexpr std::size_t n = dot::width;
  std::vector<std::uint8_t> bytes(4 * n);
  for (auto& v : bytes) v = static_cast<std::uint8_t>(r.bits());
  std::vector<float> out(n), x(n), y(n), z(n), table(16);
  const auto equals = [&](auto floats, auto wanted) {
    dot::write(out.data(), floats);
    bool equal = true;
    for (std::size_t i = 0; i < n; ++i) equal = equal && out[i] == static_cast<float>(wanted(i));
    return equal;
  };
  const auto levels = dot::load(bytes.data());
  const auto v = dot::lanes(levels);
  CHECK(equals(dot::value(dot::template byte<0>(v)), [&](std::size_t i) { return bytes[4 * i]; }));
  CHECK(equals(dot::value(dot::template byte<3>(v)),
               [&](std::size_t i) { return bytes[4 * i + 3]; }));
  CHECK(equals(dot::template based<0, 8, 8>(v),
               [&](std::size_t i) { return 32768 + bytes[4 * i + 1]; }));
  CHECK(equals(dot::template based<8, 16, 7>(v),
               [&](std::size_t i) { return 128 + bytes[4 * i + 3] % 128; }));
  CHECK(equals(dot::template based<16, 8, 8>(v),
               [&](std::size_t i) { return 32768 + bytes[4 * i + 3]; }));
  CHECK(equals(dot::value(dot::subtract(dot::numbers(bytes.data()), dot::all(9))),
               [&](std::size_t i) { return bytes[i] - 9; }));
  CHECK(equals(dot::value(dot::multiply(dot::numbers(bytes.data()), dot::all(-70'001))),
               [&](std::size_t i) { return static_cast<float>(bytes[i] * -70'001); }));
  for (auto& f : table) f = static_cast<float>(r.normal());
  const auto low = dot::template byte<1>(dot::lanes(dot::template field<0, 15>(levels)));
  CHECK(equals(dot::entry(table.data(), low),
               [&](std::size_t i) { return table[bytes[4 * i + 1] & 15]; }));
  bool equal = true;
  for (int round = 0; round < 1000; ++round) {
    for (std::size_t i = 0; i < n; ++i) {
      x[i] = static_cast<float>(r.normal());
      y[i] = static_cast<float>(r.normal());
      z[i] = -x[i] * y[i];  // what is left is the rounding
    }
    const auto a = dot::read(x.data()), b = dot::read(y.data()), c = dot::read(z.data());
    equal = equal &&
            equals(dot::fma(a, b, c), [&](std::size_t i) { return std::fma(x[i], y[i], z[i]); });
    equal = equal && equals(dot::add_product(a, b, c), [&](std::size_t i) {
              return dot::fuses ? std::fma(x[i], y[i], z[i]) : 0.0f;
            });
  }
  CHECK(equal);
}

// SPDX-License-Identifier: MIT
#include <tq/core/zero_points.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"

namespace {

struct int1 {
  static constexpr tq::ElementKind kind = tq::ElementKind::integer;
  static constexpr int bits = 1;
  using code_type = std::int8_t;
  static constexpr std::int32_t qmin = -1, qmax = 0;
  static constexpr std::string_view name = "int1";
};

// The bit of weight 2^b of a number in two's complement, by arithmetic.
bool bit_of(std::int64_t number, int b) {
  const std::int64_t whole = number + (std::int64_t{1} << 40);  // not negative, the same low bits
  return whole / (std::int64_t{1} << b) % 2 != 0;
}

// Holds that they come back, and that bit b of zero point i is bit (i * bits + b) % 8 of byte (i *
// bits + b) / 8.
template <class T>
void check_stored(std::size_t n, inputs::Random& random) {
  std::vector<std::int32_t> numbers;
  for (std::size_t i = 0; i < n; ++i)
    numbers.push_back(i < 2
                          ? (i == 0 ? T::qmin : T::qmax)
                          : static_cast<std::int32_t>(
                                T::qmin + static_cast<std::int64_t>(
                                              random.unit() * (double(T::qmax) - T::qmin + 0.99))));
  const tq::ZeroPoints<T> stored(numbers);
  INFO(T::name << ", " << n);
  REQUIRE(stored.size() == n);
  CHECK(std::ranges::equal(stored.values(), numbers));
  if constexpr (T::bits < 8) {
    REQUIRE(stored.stored().size() == (n * T::bits + 7) / 8);
    std::vector<int> expected(stored.stored().size(), 0);
    for (std::size_t i = 0; i < n; ++i)
      for (int b = 0; b < T::bits; ++b) {
        const std::size_t at = i * T::bits + static_cast<std::size_t>(b);
        if (bit_of(numbers[i], b)) expected[at / 8] += 1 << at % 8;
      }
    CHECK(std::ranges::equal(stored.stored(), expected, {},
                             [](std::byte b) { return std::to_integer<int>(b); }));
  } else {
    CHECK(sizeof(stored.stored()[0]) == T::bits / 8);
    CHECK(std::ranges::equal(stored.stored(), numbers));
  }
}

template <class... Ts>
void check_all() {
  inputs::Random random(1);
  for (const std::size_t n : {0u, 1u, 2u, 3u, 5u, 7u, 8u, 9u, 16u, 31u, 65u})
    (check_stored<Ts>(n, random), ...);
}

}  // namespace

TEST_CASE("zero points are kept as codes of their type", "[zero_points]") {
  check_all<int1, tq::ternary, tq::int2, tq::int3, tq::int4, tq::int5, tq::int6, tq::int7, tq::int8,
            tq::int16, tq::int32>();
  check_all<tq::uint2, tq::uint3, tq::uint4, tq::uint5, tq::uint6, tq::uint7, tq::uint8,
            tq::uint16>();
}

TEST_CASE("zero points are equal where all of them are", "[zero_points]") {
  using Z = tq::ZeroPoints<tq::uint3>;
  const std::vector<std::int32_t> some{1, 2, 7}, others{1, 2, 6}, more{1, 2, 7, 0}, fewer{1, 2};
  CHECK(Z(some) == Z(some));
  CHECK_FALSE(Z(some) == Z(others));
  CHECK_FALSE(Z(some) == Z(more));
  CHECK_FALSE(Z(some) == Z(fewer));
  CHECK(Z() == Z(std::vector<std::int32_t>{}));
}

TEST_CASE("zero points that were moved from are none", "[zero_points]") {
  const std::vector<std::int32_t> some{1, 2, 7};
  tq::ZeroPoints<tq::uint3> from(some), to;
  const tq::ZeroPoints<tq::uint3> moved(std::move(from));
  CHECK(std::ranges::equal(moved.values(), some));
  CHECK(from.size() == 0);  // NOLINT: what is left of it
  to = moved;
  CHECK(to == moved);
}

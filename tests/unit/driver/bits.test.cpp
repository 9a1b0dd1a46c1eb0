// SPDX-License-Identifier: MIT
#include <tq/driver/bits.hpp>

#include <cstddef>
#include <utility>

#include "support/catch.hpp"

namespace {

// Failures for elements of `Bits` bits, by counts of bits, which fit here.
template <int Bits>
int failures() {
  using namespace tq::driver;
  constexpr std::size_t bits = Bits;
  int failed = 0;
  for (std::size_t n = 0; n < 1000; ++n) {
    failed += bytes_of<Bits>(n) != (n * bits + 7) / 8;
    const bool begins = n * bits % 8 == 0;
    failed += n % elements_of_whole_bytes<Bits> == 0 && !begins;
    if (!begins) continue;
    if (n % 8 == 0 || 8 % bits == 0) failed += byte_at<Bits>(n) != n * bits / 8;
    for (const int sign : {1, -1})
      failed += bytes_to(sign * static_cast<std::ptrdiff_t>(n), Bits) !=
                sign * static_cast<std::ptrdiff_t>(n * bits / 8);
  }
  return failed;
}

template <int... Bits>
int all_failures(std::integer_sequence<int, Bits...>) {
  return (failures<Bits + 1>() + ...);
}

}  // namespace

TEST_CASE("elements of any number of bits begin and end on the right bytes", "[bits]") {
  CHECK(all_failures(std::make_integer_sequence<int, 8>{}) == 0);
  CHECK(failures<16>() + failures<32>() + failures<64>() == 0);
}

TEST_CASE("places of elements beyond what bits count do not wrap", "[bits]") {
  constexpr std::size_t most = ~std::size_t{0} / 8 * 8;
  CHECK(tq::driver::byte_at<4>(most) == most / 2);
  CHECK(tq::driver::byte_at<3>(most) == most / 8 * 3);
  CHECK(tq::driver::bytes_of<4>(most) == most / 2);
}

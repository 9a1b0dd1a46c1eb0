// SPDX-License-Identifier: MIT
#include <tq/core/packing.hpp>

#include <cstddef>

#include "support/catch.hpp"

static_assert(tq::Packing<tq::LowFirst> && tq::Packing<tq::HighFirst> && tq::Packing<tq::Unpacked>);
static_assert(!tq::Packing<int>);

namespace {
template <class T>
void check_sizes() {
  for (std::size_t n = 0; n < 40; ++n) {
    const std::size_t bytes = (n * static_cast<std::size_t>(T::bits) + 7) / 8;
    CHECK(tq::LowFirst::bytes_for<T>(n) == bytes);
    CHECK(tq::HighFirst::bytes_for<T>(n) == bytes);
    CHECK(tq::Unpacked::bytes_for<T>(n) == n * sizeof(typename T::code_type));
  }
}
}  // namespace

TEST_CASE("n codes take ceil(n * bits / 8) bytes", "[packing]") {
  check_sizes<tq::int2>();
  check_sizes<tq::uint3>();
  check_sizes<tq::int4>();
  check_sizes<tq::uint5>();
  check_sizes<tq::int6>();
  check_sizes<tq::uint7>();
  check_sizes<tq::int8>();
  check_sizes<tq::uint16>();
  check_sizes<tq::int32>();
}

TEST_CASE("the size does not overflow where n * bits would", "[packing]") {
  constexpr std::size_t n = ~std::size_t{0} / 4 * 3 / 8 * 8;
  CHECK(tq::LowFirst::bytes_for<tq::int4>(n) == n / 2);
  CHECK(tq::LowFirst::bytes_for<tq::int2>(n) == n / 4);
}

TEST_CASE("types of whole bytes are never packed", "[packing]") {
  STATIC_REQUIRE(tq::is_unpacked<tq::LowFirst, tq::int8>);
  STATIC_REQUIRE(tq::is_unpacked<tq::HighFirst, tq::uint16>);
  STATIC_REQUIRE(tq::is_unpacked<tq::LowFirst, tq::int32>);
  STATIC_REQUIRE(tq::is_unpacked<tq::Unpacked, tq::int4>);
  STATIC_REQUIRE_FALSE(tq::is_unpacked<tq::LowFirst, tq::int4>);
  STATIC_REQUIRE_FALSE(tq::is_unpacked<tq::HighFirst, tq::uint7>);
}

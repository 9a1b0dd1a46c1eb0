// SPDX-License-Identifier: MIT
#include <tq/core/shape.hpp>

#include <array>
#include <string>

#include "support/catch.hpp"
#include "support/error_check.hpp"

TEST_CASE("a shape counts its elements", "[shape]") {
  const tq::Shape s{2, 3, 4};
  CHECK(s.rank() == 3);
  CHECK(s[1] == 3);
  CHECK(s.size() == 24);
  CHECK(s.product(0, 0) == 1);
  CHECK(s.product(1, 3) == 12);
  CHECK(to_string(s) == "[2, 3, 4]");
}

TEST_CASE("a scalar has rank 0 and one element", "[shape]") {
  CHECK(tq::Shape{}.rank() == 0);
  CHECK(tq::Shape{}.size() == 1);
  CHECK(to_string(tq::Shape{}) == "[]");
}

TEST_CASE("an extent of 0 makes the tensor empty", "[shape]") {
  CHECK(tq::Shape{2, 0, 4}.size() == 0);
}

TEST_CASE("a product of extents stops at the largest size", "[shape]") {
  constexpr std::size_t most = static_cast<std::size_t>(-1), half = most / 2 + 1;
  static_assert(tq::Shape{half, 2}.size() == most && tq::Shape{half, half, half}.size() == most);
  static_assert(tq::Shape{most, 1}.size() == most && tq::Shape{half, 1}.size() == half);
  static_assert(tq::Shape{half, 4, 0}.size() == 0 && tq::Shape{0, half, 4}.size() == 0);
  CHECK(tq::Shape{half, 4, 0}.product(0, 2) == most);
}

TEST_CASE("shapes compare by rank and extents", "[shape]") {
  CHECK(tq::Shape{2, 3} == tq::Shape{2, 3});
  CHECK_FALSE(tq::Shape{2, 3} == tq::Shape{3, 2});
  CHECK_FALSE(tq::Shape{2} == tq::Shape{2, 0});
}

TEST_CASE("axes count from either end", "[shape]") {
  CHECK(tq::resolve_axis(0, 3) == 0);
  CHECK(tq::resolve_axis(2, 3) == 2);
  CHECK(tq::resolve_axis(-1, 3) == 2);
  CHECK(tq::resolve_axis(-3, 3) == 0);
  CHECK_FALSE(tq::resolve_axis(3, 3).has_value());
  CHECK_FALSE(tq::resolve_axis(-4, 3).has_value());
  CHECK_FALSE(tq::resolve_axis(0, 0).has_value());
}

TEST_CASE("a rank above 8 is an error that says so", "[shape]") {
  CHECK(tq::Shape{1, 1, 1, 1, 1, 1, 1, 2}.rank() == tq::max_rank);
  std::array<std::size_t, 9> extents{};
  try {
    const tq::Shape s{std::span<const std::size_t>(extents)};
    FAIL("no error; rank " << s.rank());
  } catch (const tq::error& e) {
    CHECK(e.code() == tq::errc::rank_too_large);
    CHECK(std::string(e.what()) == "tq::Shape: expected a rank of at most 8, got 9");
  }
}

TEST_CASE("extents may be signed, as other libraries count them", "[shape]") {
  const int rows = 3, cols = 4;
  const std::ptrdiff_t n = 5;
  CHECK(tq::Shape{rows, cols} == tq::Shape{std::size_t{3}, std::size_t{4}});
  CHECK(tq::Shape{n} == tq::Shape{5u});
  CHECK(tq::Shape{std::size_t{2}, 7}.size() == 14);
  static_assert(tq::Shape{2, 3}.size() == 6);
  test::raises(tq::errc::bad_argument, {"tq::Shape", "0 or more", "got -4"},
               [&] { (void)tq::Shape{rows, -cols}; });
  test::raises(tq::errc::rank_too_large, {"tq::Shape", "got 9"},
               [] { (void)tq::Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}; });
}

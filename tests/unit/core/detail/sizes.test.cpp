// SPDX-License-Identifier: MIT
#include <tq/core/detail/sizes.hpp>
#include <tq/core/packing.hpp>

#include <cstddef>
#include <string>

#include "support/catch.hpp"
#include "support/error_check.hpp"

namespace {
__extension__ using wide = unsigned __int128;
constexpr std::size_t most = tq::detail::most_size, half = most / 2 + 1;
constexpr std::size_t sizes[] = {0,        1,        2,    3,        7,        8,   32,
                                 most / 3, half - 1, half, most - 8, most - 1, most};
}  // namespace

TEST_CASE("saturating sizes are exact up to the largest, and that beyond it", "[sizes]") {
  const auto held = [](wide n) { return n > most ? most : static_cast<std::size_t>(n); };
  for (const std::size_t a : sizes)
    for (const std::size_t b : sizes) {
      INFO(a << " and " << b);
      CHECK(tq::detail::product_or_most(a, b) == held(wide{a} * b));
      CHECK(tq::detail::sum_or_most(a, b) == held(wide{a} + b));
      if (b != 0) {
        const wide units = (wide{a} + b - 1) / b;
        CHECK(tq::detail::units_for(a, b) == held(units));
        CHECK(tq::detail::round_up_or_most(a, b) == held(units * b));
      }
    }
  CHECK(tq::detail::units_for(5, 0) == most);
}

TEST_CASE("checked sizes name the function, what was expected and what came", "[sizes]") {
  using namespace tq::detail;
  static_assert(require_product("f", "codes", 3, 4) == 12 && require_sum("f", "codes", 3, 4) == 7);
  static_assert(require_round_up("f", "codes", 9, 4) == 12);
  static_assert(require_difference("f", "codes", 9, 9) == 0);
  const auto refused = [](const char* text, const auto& f) {
    test::raises(tq::errc::bad_argument, {text}, f);
  };
  refused("f: expected codes that memory can hold, got 4294967296 x 4294967296",
          [] { (void)require_product("f", "codes", std::size_t{1} << 32, std::size_t{1} << 32); });
  refused("f: expected codes that memory can hold, got 18446744073709551615 + 1",
          [] { (void)require_sum("f", "codes", most, 1); });
  refused("f: expected codes that memory can hold, got 18446744073709551615 in units of 16",
          [] { (void)require_round_up("f", "codes", most, 16); });
  refused("f: expected codes that memory can hold, got 3 in units of 0",
          [] { (void)require_round_up("f", "codes", 3, 0); });
  refused("f: expected at most 3 cropped inputs, got 4",
          [] { (void)require_difference("f", "cropped inputs", 3, 4); });
  refused("f: expected codes that memory can hold, got 9223372036854775808",
          [] { (void)require_in_memory("f", "codes", half); });
}

TEST_CASE("bytes of more codes than a size can count are the largest size", "[sizes]") {
  for (const std::size_t n : sizes) {
    INFO(n);
    CHECK(tq::LowFirst::bytes_for<tq::uint4>(n) == n / 2 + n % 2);
    CHECK(tq::LowFirst::bytes_for<tq::int16>(n) == tq::detail::product_or_most(n, 2));
    CHECK(tq::Unpacked::bytes_for<tq::int32>(n) == tq::detail::product_or_most(n, 4));
    CHECK(tq::HighFirst::bytes_for<tq::int3>(n) == static_cast<std::size_t>((wide{n} * 3 + 7) / 8));
  }
}

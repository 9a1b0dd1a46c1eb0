// SPDX-License-Identifier: MIT
#include <tq/linear/detail/group_layout.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/catch.hpp"

using tq::detail::GroupLayout;

TEST_CASE("panels, groups and units are rounded up") {
  const GroupLayout four(33, 70, 20, 4);
  CHECK(four.panels() == 2);
  CHECK(four.groups() == 4);
  CHECK(four.padded_group() == 32);
  CHECK(four.panel_bytes() == 4 * 32 * 32 / 2);
  CHECK(four.code_bytes() == 2 * four.panel_bytes());
  CHECK(four.parameters() == 2 * 4 * 32);
  CHECK(four.parameter(32, 3) == (4 + 3) * 32);
  CHECK(GroupLayout(1, 5, 16, 3).padded_group() == 32);
  CHECK(GroupLayout(1, 5, 16, 8).padded_group() == 16);
  CHECK(GroupLayout(0, 5, 16, 8).code_bytes() == 0);
  CHECK(GroupLayout(5, 0, 16, 8).code_bytes() == 0);
}

TEST_CASE("every code has bits of its own, and all bits are those of a code") {
  for (const int width : {2, 3, 4, 8}) {
    const GroupLayout layout(40, 70, 20, width);
    std::vector<std::uint8_t> codes(layout.code_bytes());
    const auto value = [&](std::size_t n, std::size_t g, std::size_t i) {
      return static_cast<std::uint8_t>((n * 131 + g * 29 + i * 7) & ((1u << width) - 1u));
    };
    const auto for_each = [&](auto&& f) {
      for (std::size_t n = 0; n < 64; ++n)
        for (std::size_t g = 0; g < layout.groups(); ++g)
          for (std::size_t i = 0; i < layout.padded_group(); ++i) f(n, g, i);
    };
    for_each([&](auto n, auto g, auto i) { layout.put(codes.data(), n, g, i, value(n, g, i)); });
    bool equal = true;
    for_each([&](auto n, auto g, auto i) {
      equal = equal && layout.code(codes.data(), n, g, i) == value(n, g, i);
    });
    CHECK(equal);
    std::ranges::fill(codes, std::uint8_t{0});
    const unsigned most = (1u << width) - 1u;
    for_each([&](auto n, auto g, auto i) { layout.put(codes.data(), n, g, i, most); });
    CHECK(std::ranges::all_of(codes, [](std::uint8_t b) { return b == 255; }));
  }
}

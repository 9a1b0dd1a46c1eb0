// SPDX-License-Identifier: MIT
#include <tq/kernels/blocks.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "support/catch.hpp"

namespace {

constexpr std::size_t step = 128;

std::vector<std::size_t> plain(std::size_t first, std::size_t count) {
  std::vector<std::size_t> at;
  for (std::size_t i = first; i + step <= count; i += step) at.push_back(i);
  return at;
}

}  // namespace

TEST_CASE("blocks come in order, wherever a whole one fits", "[blocks]") {
  for (const std::size_t first : {0u, 5u, 127u})
    for (const std::size_t count : {0u, 1u, 127u, 128u, 129u, 133u, 300u, 1024u, 5000u}) {
      std::vector<std::size_t> seen;
      const std::size_t rest = tq::kernels::for_each_block<step>(first, count, [&](std::size_t i) { seen.push_back(i); });
      CHECK(seen == plain(first, count));
      CHECK(rest == (seen.empty() ? first : seen.back() + step));
    }
}

TEST_CASE("side by side every block of four pages comes once, and the rest is left", "[blocks]") {
  for (const std::size_t first : {0u, 7u})
    for (const std::size_t count : {0u, 100u, 4095u, 4096u, 4103u, 9000u, 20000u}) {
      std::vector<std::size_t> seen;
      const std::size_t rest =
          tq::kernels::for_each_block_side_by_side<step>(first, count, [&](std::size_t i) { seen.push_back(i); });
      const std::size_t whole = count < first ? 0 : (count - first) / 4096 * 4096;
      CHECK(rest == first + whole);
      if (whole != 0) {
        CHECK(seen[1] == first + 1024);  // the next page
        CHECK(seen[4] == first + step);
      }
      std::sort(seen.begin(), seen.end());
      CHECK(seen == plain(first, rest));
    }
}
